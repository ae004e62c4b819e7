import type { ErrorCode } from '@purser/wire/errors'

import { hashApiKey, isWellFormedApiKey } from '../domain/api-key.ts'
import type { StoredSession } from '../store/console/store.ts'
import type { Caller } from '../domain/records.ts'
import { andThen, type MaybePromise } from './maybe-promise.ts'
import { RecentlyUsed } from './recently-used.ts'

/** Who calls, or the code of the refusal (Authentication). */
export type Authentication =
  | {
      readonly caller: Caller
      readonly session?: CallerSession
      /** Whether the key comes from the cache without a look-up: it may have been revoked since. */
      readonly isRemembered?: boolean
    }
  | { readonly refusal: ErrorCode }

/** The session of a caller with a cookie, and the cookie's token. */
export interface CallerSession extends StoredSession {
  readonly text: string
}

export interface AuthenticationOptions {
  /** The caller whose key has this SHA-256, unless the key is unknown or revoked. */
  readonly findCaller: (secretHash: Buffer) => MaybePromise<Caller | undefined>
  /** Keys chosen by the operator, which need no checksum. */
  readonly chosenKeys: ReadonlySet<string>
  /** Called with each accepted key. */
  readonly onUse?: (caller: Caller) => void
}

/** Max number of cached keys. */
const maxRemembered = 1_000

/**
 * Identifies the caller from the `Authorization` header. Looks up the key every time, except with
 * `mayBeRemembered`, where the caller rechecks a cached key itself. With `mustBeKnown` only cached keys are
 * looked up, because the address has tried too many wrong ones.
 */
export function createAuthentication({ findCaller, chosenKeys, onUse }: AuthenticationOptions) {
  /** Hashes and callers of keys in use: neither ever changes, and the store is asked whether the key is still valid. */
  const remembered = new RecentlyUsed<{ readonly secretHash: Buffer; readonly caller: Caller }>({
    max: maxRemembered,
  })

  return (
    authorization = '',
    { mayBeRemembered = false, mustBeKnown = false } = {},
  ): MaybePromise<Authentication> => {
    const key = bearerToken(authorization)
    if (key === undefined) return { refusal: 'Not authenticated' }
    const known = remembered.get(key)
    if (known) {
      if (mayBeRemembered) return { caller: known.caller, isRemembered: true }
      return andThen(findCaller(known.secretHash), (caller) => {
        if (!caller) remembered.delete(key)
        return callerOf(caller)
      })
    }

    if (mustBeKnown) return { refusal: 'rate_limited' }
    if (!isWellFormedApiKey(key) && !chosenKeys.has(key)) return { refusal: 'invalid_api_key' }
    const secretHash = hashApiKey(key)
    return andThen(findCaller(secretHash), (caller) => {
      // Only for known keys, so that a flood of wrong ones evicts nothing.
      if (caller) remembered.set(key, { secretHash, caller })
      return callerOf(caller)
    })
  }

  function callerOf(caller: Caller | undefined): Authentication {
    if (!caller) return { refusal: 'invalid_api_key' }
    onUse?.(caller)
    return { caller }
  }
}

/** The token of `Bearer <token>`; the scheme is case-insensitive. */
function bearerToken(authorization: string): string | undefined {
  const match = /^bearer +(\S.*)$/i.exec(authorization)
  return match?.[1]?.trim()
}

import type { ErrorCode } from '@purser/wire/errors'

import { hashApiKey, isWellFormedApiKey } from '../domain/api-key.ts'
import type { StoredSession } from '../store/console/store.ts'
import type { Caller } from '../domain/records.ts'

/** Who calls, or the code of the refusal (Authentication). */
export type Authentication =
  | {
      readonly caller: Caller
      readonly session?: CallerSession
      /** Whether the key was let in before, and has not been looked up now: it may have been revoked since. */
      readonly isRemembered?: boolean
    }
  | { readonly refusal: ErrorCode }

/** The session of a caller who came with a cookie, and the text that the cookie holds. */
export interface CallerSession extends StoredSession {
  readonly text: string
}

export interface AuthenticationOptions {
  /** The caller whose key has this SHA-256, unless it is unknown or revoked. */
  readonly findCaller: (secretHash: Buffer) => Promise<Caller | undefined>
  /** Keys that the operator chose himself, and which need not carry a checksum. */
  readonly chosenKeys: ReadonlySet<string>
  /** Is told of each key that is let in. */
  readonly onUse?: (caller: Caller) => void
}

/** Most keys whose hash is remembered. */
const maxRemembered = 1_000

/**
 * The function that tells who calls from the `Authorization` header. It looks every key up, every time, but for those
 * who `mayBeRemembered`: they find out themselves whether the key is still good. With `mustBeKnown` only keys that were
 * in use before are looked up: their address has tried too many wrong ones.
 */
export function createAuthentication({ findCaller, chosenKeys, onUse }: AuthenticationOptions) {
  /**
   * The hashes and the callers of keys that were in use, by the header that they came in: neither ever changes, and
   * whether its key still opens anything is asked of the store every time.
   */
  const remembered = new Map<string, { readonly secretHash: Buffer; readonly caller: Caller }>()

  return async (
    authorization = '',
    { mayBeRemembered = false, mustBeKnown = false } = {},
  ): Promise<Authentication> => {
    const known = remembered.get(authorization)
    if (known && mayBeRemembered) return { caller: known.caller, isRemembered: true }
    if (known) {
      const caller = await findCaller(known.secretHash)
      if (!caller) remembered.delete(authorization)
      return callerOf(caller)
    }

    const key = bearerToken(authorization)
    if (key === undefined) return { refusal: 'Not authenticated' }
    if (mustBeKnown) return { refusal: 'rate_limited' }
    if (!isWellFormedApiKey(key) && !chosenKeys.has(key)) return { refusal: 'invalid_api_key' }
    const secretHash = hashApiKey(key)
    const caller = await findCaller(secretHash)
    // Only of keys that the store knows, so that a flood of wrong ones drives nothing out.
    if (caller) {
      if (remembered.size >= maxRemembered) remembered.clear()
      remembered.set(authorization, { secretHash, caller })
    }
    return callerOf(caller)
  }

  function callerOf(caller: Caller | undefined): Authentication {
    if (!caller) return { refusal: 'invalid_api_key' }
    onUse?.(caller)
    return { caller }
  }
}

/** The token of `Bearer <token>`; the scheme's name is case-insensitive. */
function bearerToken(authorization: string): string | undefined {
  const match = /^bearer +(\S.*)$/i.exec(authorization)
  return match?.[1]?.trim()
}

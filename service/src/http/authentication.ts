import type { ErrorCode } from '@purser/wire/errors'

import { hashApiKey, isWellFormedApiKey } from '../domain/api-key.ts'
import type { StoredSession } from '../store/console-store.ts'
import type { Caller } from '../domain/records.ts'

/** Who calls, or the code of the refusal (Authentication). */
export type Authentication =
  { readonly caller: Caller; readonly session?: CallerSession } | { readonly refusal: ErrorCode }

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

/** The function that tells who calls from the `Authorization` header; it looks every key up, every time. */
export function createAuthentication({ findCaller, chosenKeys, onUse }: AuthenticationOptions) {
  return async (authorization: string | undefined): Promise<Authentication> => {
    const key = bearerToken(authorization)
    if (key === undefined) return { refusal: 'Not authenticated' }
    if (!isWellFormedApiKey(key) && !chosenKeys.has(key)) return { refusal: 'invalid_api_key' }
    const caller = await findCaller(hashApiKey(key))
    if (!caller) return { refusal: 'invalid_api_key' }
    onUse?.(caller)
    return { caller }
  }
}

/** The token of `Bearer <token>`; the scheme's name is case-insensitive. */
function bearerToken(authorization: string | undefined): string | undefined {
  const match = /^bearer +(\S.*)$/i.exec(authorization ?? '')
  return match?.[1]?.trim()
}

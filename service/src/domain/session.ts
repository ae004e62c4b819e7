import { createHash } from 'node:crypto'

import type { RandomBytes } from './api-key.ts'
import { equalInConstantTime } from './proof.ts'

const hourMs = 3_600_000

/** Idle timeout of a session. */
export const sessionIdleMs = 8 * hourMs

/** Max lifetime of a session. */
export const sessionLifeMs = 24 * hourMs

/** Lifetime of the set-up link of a first start. */
export const setUpLinkLifeMs = hourMs

/** Min interval between recorded uses of a session. */
export const sessionTouchMs = 5 * 60_000

/** The account of a token, and its hash in the store. */
export interface SessionToken {
  readonly accountId: string
  readonly tokenHash: Buffer
}

/** A new token: the account, so that a session is found among those of its account, and 256 random bits. */
export function mintSessionToken(
  accountId: string,
  randomBytes: RandomBytes,
): SessionToken & { readonly text: string } {
  const text = `${accountId}.${Buffer.from(randomBytes(32)).toString('base64url')}`
  return { accountId, tokenHash: sha256(text), text }
}

/** Parses a token; undefined if it is invalid. */
export function readSessionToken(text: string): SessionToken | undefined {
  const [, accountId] = /^([a-z]+_[0-9a-z]{26})\.[\w-]{43}$/.exec(text) ?? []
  return accountId === undefined ? undefined : { accountId, tokenHash: sha256(text) }
}

/** When a session ends if it is not used again, in milliseconds since 1970. */
export function sessionEndMs(session: { readonly usedAtMs: number; readonly endsAtMs: number }): number {
  return Math.min(session.usedAtMs + sessionIdleMs, session.endsAtMs)
}

/**
 * The CSRF token that the console must send to change something. It is derived from the session token, which
 * scripts cannot read, so another site can neither know nor guess it.
 */
export function csrfTokenOf(token: string): string {
  return sha256(`purser console csrf\n${token}`).toString('base64url')
}

/** Whether a request has the session's CSRF token. */
export function isCsrfToken(text: string | undefined, token: string): boolean {
  return equalInConstantTime(text ?? '', csrfTokenOf(token))
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

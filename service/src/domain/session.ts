import { createHash, timingSafeEqual } from 'node:crypto'

import type { RandomBytes } from './api-key.ts'

const hourMs = 3_600_000

/** How long a session lives that nobody uses. */
export const sessionIdleMs = 8 * hourMs

/** How long a session lives however it is used. */
export const sessionLifeMs = 24 * hourMs

/** How long the link of a first start can be followed. */
export const setUpLinkLifeMs = hourMs

/** How long a use of a session is not written down again. */
export const sessionTouchMs = 5 * 60_000

/** Whose session a token is of, and by what it is known to the store. */
export interface SessionToken {
  readonly accountId: string
  readonly tokenHash: Buffer
}

/** A new token: the account, so that a session is found among those of its account, and 256 random bits. */
export function mintSessionToken(accountId: string, randomBytes: RandomBytes): string {
  return `${accountId}.${Buffer.from(randomBytes(32)).toString('base64url')}`
}

/** What a token says; undefined when it is none. */
export function readSessionToken(text: string): SessionToken | undefined {
  const [, accountId] = /^([a-z]+_[0-9a-z]{26})\.[\w-]{43}$/.exec(text) ?? []
  return accountId === undefined ? undefined : { accountId, tokenHash: sha256(text) }
}

/** When a session ends if it is not used any more, in milliseconds since 1970. */
export function sessionEndMs(session: { readonly usedAtMs: number; readonly endsAtMs: number }): number {
  return Math.min(session.usedAtMs + sessionIdleMs, session.endsAtMs)
}

/**
 * What a page of the console must send to change something. It follows from the token, which no script can
 * read, so another site can neither know nor guess it.
 */
export function csrfTokenOf(token: string): string {
  return sha256(`purser console csrf\n${token}`).toString('base64url')
}

/** Whether a request carries the session's token. */
export function isCsrfToken(text: string | undefined, token: string): boolean {
  const expected = Buffer.from(csrfTokenOf(token))
  const sent = Buffer.from(text ?? '')
  return sent.length === expected.length && timingSafeEqual(sent, expected)
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

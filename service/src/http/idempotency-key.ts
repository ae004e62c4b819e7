import type { IncomingMessage } from 'node:http'

import { maxIdempotencyKeyLength } from '../limits.ts'

/** The `Idempotency-Key` of a request: null without one; undefined if it is not valid, or sent more than once. */
export function readIdempotencyKey(request: IncomingMessage): string | null | undefined {
  const text = request.headers['idempotency-key']?.toString()
  if (text === undefined) return null
  // Repeated headers arrive as one, joined with a comma and a space.
  const isRepeated = text.includes(', ') && request.headersDistinct['idempotency-key']?.length !== 1
  return !isRepeated && isIdempotencyKey(text) ? text : undefined
}

/** Whether a key is printable, short enough, and without leading or trailing spaces. */
function isIdempotencyKey(text: string): boolean {
  return text.length <= maxIdempotencyKeyLength && /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text)
}

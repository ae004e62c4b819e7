import { maxIdempotencyKeyLength } from '../limits.ts'

/** Whether the text of an `Idempotency-Key` header can be one: printable, short enough, without spaces at its ends. */
export function isIdempotencyKey(text: string): boolean {
  return text.length <= maxIdempotencyKeyLength && /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text)
}

import { maxIdempotencyKeyLength } from '../limits.ts'

/** Whether an `Idempotency-Key` is valid: printable, short enough, without leading or trailing spaces. */
export function isIdempotencyKey(text: string): boolean {
  return text.length <= maxIdempotencyKeyLength && /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text)
}

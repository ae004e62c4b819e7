/**
 * 128 random bits as text, for an idempotency key. `crypto.randomUUID` does not exist on plain http pages.
 *
 * @example
 * const idempotencyKey = randomKey() // 32 hexadecimal digits
 */
export function randomKey(): string {
  return hexOf(crypto.getRandomValues(new Uint8Array(16)))
}

export function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

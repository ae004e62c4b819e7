/** 128 random bits as text. `crypto.randomUUID` does not exist on plain http pages. */
export function randomKey(): string {
  return hexOf(crypto.getRandomValues(new Uint8Array(16)))
}

export function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

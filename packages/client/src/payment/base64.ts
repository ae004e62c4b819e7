/** The JSON text of a value as base64url of its UTF-8. */
export function encodeJson(value: unknown): string {
  const text = toBase64(new TextEncoder().encode(JSON.stringify(value)))
  return text.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
}

/** Decodes base64url JSON; undefined if the text is not valid. */
export function decodeJson(text: string): unknown {
  try {
    const bytes = fromBase64(text.replaceAll('-', '+').replaceAll('_', '/'))
    return JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    return undefined
  }
}

export function toBase64(bytes: Uint8Array): string {
  return btoa(toBinary(bytes))
}

/** A character for each byte. */
export function toBinary(bytes: Uint8Array): string {
  let text = ''
  for (let at = 0; at < bytes.length; at += 8192)
    text += String.fromCharCode(...bytes.subarray(at, at + 8192))
  return text
}

export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (one) => one.charCodeAt(0))
}

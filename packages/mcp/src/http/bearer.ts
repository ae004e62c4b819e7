import { createHash, timingSafeEqual } from 'node:crypto'

/** A check of Authorization headers against one token, whose time tells nothing about it. */
export function bearerCheck(token: string): (header: string | undefined) => boolean {
  const expected = digest(token)
  return (header) => {
    const [, shown] = /^bearer +(\S+)$/i.exec(header ?? '') ?? []
    return shown !== undefined && timingSafeEqual(digest(shown), expected)
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

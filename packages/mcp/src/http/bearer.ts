import { createHash, timingSafeEqual } from 'node:crypto'

/** Checks an Authorization header against one token in constant time. */
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

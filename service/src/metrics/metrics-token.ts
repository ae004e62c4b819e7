import { hash, timingSafeEqual } from 'node:crypto'

/** The path of metrics, on either port. */
export const metricsPath = '/metrics'

/** Whether an `Authorization` header has the token; without a configured token, everybody may read. */
export function showsToken(authorization: string | undefined, token: string | undefined): boolean {
  if (token === undefined) return true
  const shown = /^bearer +(\S+)$/i.exec(authorization ?? '')?.[1] ?? ''
  return timingSafeEqual(hash('sha256', shown, 'buffer'), hash('sha256', token, 'buffer'))
}

import type { IncomingHttpHeaders } from 'node:http'

import type { SiteOptions } from './session-cookie.ts'

/**
 * Whether a request comes from a page of the service itself, or from no page. Browsers send `Sec-Fetch-Site`,
 * and `Origin` for requests that can change something; programs send neither.
 */
export function isSameSite(headers: IncomingHttpHeaders, { publicUrl }: SiteOptions): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return false
  const { origin } = headers
  if (origin === undefined) return true
  if (!URL.canParse(origin)) return false
  if (publicUrl) return new URL(origin).origin === publicUrl.origin
  return new URL(origin).host === headers.host
}

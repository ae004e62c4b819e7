import { pathOf } from './readings.ts'
import { spell } from './spell.ts'

/** The headers from which servers derive the base of a request's URL. Customers control them. */
export const hostHeaders = ['host', 'x-forwarded-host', 'x-forwarded-proto', 'x-forwarded-port'] as const

/** The base of all URLs of a merchant, without a trailing slash. */
export function readPublicUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  // An empty query or fragment is visible only here, and would swallow the path appended to it.
  if (url && /^https?:\/\/[^?#]*$/.test(url.href) && !url.username && !url.password) {
    return url.href.replace(/\/+$/, '')
  }
  // Passwords must not appear in logs.
  const given = url?.password ? 'one with a password' : spell(url ? url.href : text)
  throw new TypeError(
    `publicUrl must be an http or https URL such as "https://api.example.com", without user, query or fragment, not ${given}`,
  )
}

/**
 * The URL of a request in the normalized spelling used for comparison. Its base comes from the options, never from
 * the `Host` or `X-Forwarded-…` headers.
 */
export function resourceOf(publicUrl: string, target: string): string {
  // Concatenated as text: resolving `//other.example/` or `http://other.example/` would change the host.
  return withoutFragment(new URL(publicUrl + pathOf(target)))
}

/** Whether a proof is for the resource. Both are normalized as WHATWG URLs and must then be equal. */
export function isForResource(proofResource: string, resource: string): boolean {
  try {
    return withoutFragment(new URL(proofResource)) === resource
  } catch {
    return false
  }
}

function withoutFragment(url: URL): string {
  url.hash = ''
  return url.href
}

import { pathOf } from './readings.ts'
import { spell } from './spell.ts'

/** The beginning of all addresses of a merchant, without a slash at its end. */
export function readPublicUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  // A query or a fragment that is empty shows only here, and would swallow the path that is written behind it.
  if (url && /^https?:\/\/[^?#]*$/.test(url.href) && !url.username && !url.password) {
    return url.href.replace(/\/+$/, '')
  }
  // A password is not for a log.
  const given = url?.password ? 'one with a password' : spell(url ? url.href : text)
  throw new TypeError(
    `publicUrl must be an http or https address such as "https://api.example.com", without user, query and fragment, not ${given}`,
  )
}

/**
 * The address that a request is for, in the one spelling in which addresses are compared. It begins with what
 * the merchant calls itself, never with what the request says in `Host` or `X-Forwarded-…`.
 */
export function resourceOf(publicUrl: string, target: string): string {
  // Put together as text: resolving `//other.example/` or `http://other.example/` would change the host.
  return withoutFragment(new URL(publicUrl + pathOf(target)))
}

/** Whether a proof is for the resource. Both are spelled as WHATWG URLs; nothing else is taken for the same. */
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

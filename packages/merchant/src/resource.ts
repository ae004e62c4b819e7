/** The beginning of all addresses of a merchant, without a slash at its end. */
export function readPublicUrl(text: string): string {
  const url = new URL(text)
  if (!/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash) {
    throw new TypeError(`publicUrl must be an http or https address without query and fragment: ${text}`)
  }
  return url.href.replace(/\/+$/, '')
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

/** Path and query of a request target, also of one in absolute form (`GET http://host/path`). */
export function pathOf(target: string): string {
  const path = target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '')
  return path.startsWith('/') ? path : `/${path === '*' ? '' : path}`
}

function withoutFragment(url: URL): string {
  url.hash = ''
  return url.href
}

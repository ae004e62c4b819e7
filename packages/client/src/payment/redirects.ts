/** A request, as changed by a redirect. */
export interface RedirectedRequest {
  readonly url: string
  readonly method: string
  /** Whether to send the body: not if the method became GET. */
  readonly withBody: boolean
}

const redirectStatuses = new Set([301, 302, 303, 307, 308])

/** The redirect target of a response as an absolute URL; null if there is no valid one. */
export function redirectLocation(
  { status, location }: { readonly status: number; readonly location: string | null },
  from: string,
): string | null {
  if (!redirectStatuses.has(status) || location === null) return null
  return URL.canParse(location, from) ? new URL(location, from).href : null
}

/** Whether two URLs have the same scheme, host and port, and the first one has no credentials. */
export function isSameOrigin(address: string, other: string): boolean {
  const url = new URL(address)
  const isWeb = url.protocol === 'https:' || url.protocol === 'http:'
  return isWeb && url.username === '' && url.password === '' && url.origin === new URL(other).origin
}

/** The request after a redirect, by the rules of the Fetch Standard. */
export function redirected(
  { method, withBody }: RedirectedRequest,
  status: number,
  location: string,
): RedirectedRequest {
  const becomesGet =
    (status === 303 && method !== 'GET' && method !== 'HEAD') ||
    ((status === 301 || status === 302) && method === 'POST')
  return becomesGet ? { url: location, method: 'GET', withBody: false } : { url: location, method, withBody }
}

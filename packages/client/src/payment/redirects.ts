/** A request as a redirect changes it. */
export interface RedirectedRequest {
  readonly url: string
  readonly method: string
  /** Whether the body goes along: not where the method became GET. */
  readonly withBody: boolean
}

const redirectStatuses = new Set([301, 302, 303, 307, 308])

/** Where an answer redirects to, as an absolute address; null when it does not, or to no address. */
export function redirectLocation(
  { status, location }: { readonly status: number; readonly location: string | null },
  from: string,
): string | null {
  if (!redirectStatuses.has(status) || location === null) return null
  return URL.canParse(location, from) ? new URL(location, from).href : null
}

/** Whether two addresses have the same scheme, host and port, and the first one carries no user name or password. */
export function isSameOrigin(address: string, other: string): boolean {
  const url = new URL(address)
  const isWeb = url.protocol === 'https:' || url.protocol === 'http:'
  return isWeb && url.username === '' && url.password === '' && url.origin === new URL(other).origin
}

/** The request that follows a redirect, by the rules of the Fetch Standard. */
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

import { sessionLifeMs } from '../domain/session.ts'

/** Where a browser believes to be: what decides whether its cookie is for TLS only. */
export interface SiteOptions {
  /** The address under which people reach the service, where it is set. */
  readonly publicUrl: URL | undefined
}

const plainName = 'purser-session'
/** A browser takes a cookie of this name only over TLS, for this host alone, whatever another subdomain does. */
const secureName = `__Host-${plainName}`

/** The `Set-Cookie` of a session that begins; no script can read it, and no other site's request carries it. */
export function sessionCookie(token: string, isSecure: boolean): string {
  return `${nameOf(isSecure)}=${token}; Path=/; Max-Age=${sessionLifeMs / 1_000}; ${attributes(isSecure)}`
}

/** The `Set-Cookie` that takes a session's cookie away. */
export function endedCookie(isSecure: boolean): string {
  return `${nameOf(isSecure)}=; Path=/; Max-Age=0; ${attributes(isSecure)}`
}

/** The token that a `Cookie` header carries. Over TLS another subdomain may have set a cookie of the plain name. */
export function sessionTokenOf(cookie: string | undefined, isSecure: boolean): string | undefined {
  if (cookie === undefined) return undefined
  const cookies = cookie.split(';').map((one) => one.trim())
  for (const name of isSecure ? [secureName] : [secureName, plainName]) {
    const found = cookies.find((one) => one.startsWith(`${name}=`))
    if (found !== undefined) return found.slice(name.length + 1)
  }
  return undefined
}

/**
 * Whether the browser speaks TLS: the public address says so, or the proxy in front. Whoever forges that header
 * makes a cookie of his own stricter, and nothing else.
 */
export function isSecureRequest(forwardedProto: string | undefined, { publicUrl }: SiteOptions): boolean {
  return publicUrl ? publicUrl.protocol === 'https:' : forwardedProto?.split(',')[0]?.trim() === 'https'
}

function nameOf(isSecure: boolean): string {
  return isSecure ? secureName : plainName
}

function attributes(isSecure: boolean): string {
  return `HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`
}

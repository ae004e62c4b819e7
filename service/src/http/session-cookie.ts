import { sessionLifeMs } from '../domain/session.ts'

/** What determines whether the cookie is only for TLS. */
export interface SiteOptions {
  /** The public URL of the service, if configured. */
  readonly publicUrl: URL | undefined
}

const plainName = 'purser-session'
/** Browsers accept a cookie with this prefix only over TLS, and only for this host. */
const secureName = `__Host-${plainName}`

/** The `Set-Cookie` of a new session; scripts cannot read it, and other sites cannot send it. */
export function sessionCookie(token: string, isSecure: boolean): string {
  return `${nameOf(isSecure)}=${token}; Path=/; Max-Age=${sessionLifeMs / 1_000}; ${attributes(isSecure)}`
}

/** The `Set-Cookie` that deletes a session's cookie. */
export function endedCookie(isSecure: boolean): string {
  return `${nameOf(isSecure)}=; Path=/; Max-Age=0; ${attributes(isSecure)}`
}

/** The token in a `Cookie` header. Over TLS, another subdomain may have set a cookie with the plain name. */
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
 * Whether the browser uses TLS, by the public URL or the proxy's header. Forging that header only makes the
 * forger's own cookie stricter.
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

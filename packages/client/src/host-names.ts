/**
 * Normalizes a domain as the service does: lower-case ASCII (IDNA), without a trailing dot. Text that is not
 * a host name is only lowercased, and so equals nothing but itself.
 *
 * @example
 * hostNameOf('API.Example.com.') // 'api.example.com'
 */
export function hostNameOf(domain: string): string {
  const lower = domain.toLowerCase()
  const address = `https://${lower}`
  if (notInHostName.test(lower) || !URL.canParse(address)) return lower
  return new URL(address).hostname.replace(/(?<=[^.])\.$/, '')
}

/** Characters that the URL parser would strip or decode: other URL parts, a port, escapes. */
const notInHostName = /[\s/\\?#@%]|:\d*$/

/**
 * Whether a host is the domain itself or a subdomain of it. Single labels and numbers have no subdomains.
 *
 * @example
 * isHostOrParent('example.com', 'api.example.com') // true
 */
export function isHostOrParent(domain: string, host: string): boolean {
  const parent = hostNameOf(domain)
  const name = hostNameOf(host)
  return name === parent || (/\.[a-z][^.]*$/.test(parent) && name.endsWith(`.${parent}`))
}

import { spell } from './spell.ts'

/**
 * The host name in lower-case ASCII without a dot at its end, as the service compares it (decision 0015). Throws a
 * TypeError for what no seller can be registered under.
 */
export function readMerchantDomain(domain: unknown): string {
  if (typeof domain === 'string' && !urlSyntax.test(domain)) {
    const name = hostOf(`https://${domain}`)
    // The service takes plain letters and digits as they are, where addresses make 127.0.0.1 of 127.1.
    const isItself = !plainName.test(domain) || name === domain.toLowerCase().replace(/\.$/, '')
    if (name !== undefined && isItself && hostName.test(name)) return name
  }
  throw new TypeError(
    `merchantDomain must be a host name such as "api.example.com", without scheme, port and path, not ${spell(domain)}`,
  )
}

/**
 * Throws a TypeError unless the address lies at the domain or below it: of another, no payment can be collected
 * (decision 0016). Nothing lies below a single label or a number.
 */
export function assertIsAt(domain: string, publicUrl: string): void {
  const host = hostOf(publicUrl)
  if (host === domain || (/\.[a-z][^.]*$/.test(domain) && host?.endsWith(`.${domain}`))) return
  throw new TypeError(
    `publicUrl must be at "${domain}", or at a host below such a domain, as merchantDomain says, not at "${host}"`,
  )
}

function hostOf(address: string): string | undefined {
  return URL.canParse(address) ? new URL(address).hostname.replace(/\.$/, '') : undefined
}

/** What is no part of a host name, though an address could be made with it; colons stand only in brackets. */
const urlSyntax = /[\s/\\?#@%]|^[^[]*:|\]./

const plainName = /^[a-z0-9.-]+$/i

/** As sellers are registered: labels of at most 63 characters, together at most 253; or an IP address. */
const hostName = /^(?:\[[0-9a-f:.]+\]|(?=.{1,253}$)(?:(?:^|\.)[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)+)$/

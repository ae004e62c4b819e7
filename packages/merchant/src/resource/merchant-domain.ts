import { spell } from './spell.ts'

/**
 * The host name in lower-case ASCII without a trailing dot, as the service compares it (decision 15). Throws a
 * TypeError for names that no seller can register.
 */
export function readMerchantDomain(domain: unknown): string {
  if (typeof domain === 'string' && !urlSyntax.test(domain)) {
    const name = hostOf(`https://${domain}`)
    // The service keeps ASCII letters and digits unchanged, while URL parsers turn 127.1 into 127.0.0.1.
    const isItself = !plainName.test(domain) || name === domain.toLowerCase().replace(/\.$/, '')
    if (name !== undefined && isItself && hostName.test(name)) return name
  }
  throw new TypeError(
    `merchantDomain must be a host name such as "api.example.com", without scheme, port or path, not ${spell(domain)}`,
  )
}

/**
 * Throws a TypeError unless the host equals the domain or is a subdomain; for others no payment can be collected
 * (decision 16). Single labels and IP addresses have no subdomains.
 */
export function assertIsAt(domain: string, publicUrl: string): void {
  const host = hostOf(publicUrl)
  if (host === domain || (/\.[a-z][^.]*$/.test(domain) && host?.endsWith(`.${domain}`))) return
  throw new TypeError(
    `The host of publicUrl must be the merchantDomain "${domain}" or a subdomain of it, not "${host}"`,
  )
}

function hostOf(address: string): string | undefined {
  return URL.canParse(address) ? new URL(address).hostname.replace(/\.$/, '') : undefined
}

/** Characters that a URL may have but a host name may not; colons are allowed in brackets only. */
const urlSyntax = /[\s/\\?#@%]|^[^[]*:|\]./

const plainName = /^[a-z0-9.-]+$/i

/** The rules for sellers: labels of at most 63 characters, at most 253 in total; or an IP address. */
const hostName = /^(?:\[[0-9a-f:.]+\]|(?=.{1,253}$)(?:(?:^|\.)[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)+)$/

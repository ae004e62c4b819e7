import type { Mandate } from '@purser/client'

/**
 * The domain of the mandate's allowed sellers under which the host would collect: its own before one that it
 * lies below. Undefined when the mandate admits none.
 */
export function sellerFor({ allowed_sellers: sellers }: Mandate, host: string): string | undefined {
  const domains = sellers.map(hostNameOf)
  if (domains.includes(host) || sellers.includes('*')) return host
  return domains.find((domain) => isHostOrParent(domain, host))
}

/** Nothing lies below a single label or a number (decision 12). */
export function isHostOrParent(domain: string, host: string): boolean {
  return host === domain || (/\.[a-z][^.]*$/.test(domain) && host.endsWith(`.${domain}`))
}

/** A seller's domain as addresses spell it: lower-case ASCII. */
function hostNameOf(domain: string): string {
  return URL.parse(`https://${domain}`)?.hostname ?? domain
}

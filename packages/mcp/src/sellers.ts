import { hostNameOf, isHostOrParent, type Mandate } from '@purser/client'

/**
 * The domain of the mandate's allowed sellers under which the host would collect: its own before one that it
 * lies below. Undefined when the mandate admits none.
 */
export function sellerFor({ allowed_sellers: sellers }: Mandate, host: string): string | undefined {
  const name = hostNameOf(host)
  const domains = sellers.map(hostNameOf)
  if (domains.includes(name) || sellers.includes('*')) return name
  return domains.find((domain) => isHostOrParent(domain, name))
}

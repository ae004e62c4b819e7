import { hostNameOf, isHostOrParent, type Mandate } from '@purser/client'

/**
 * The allowed seller domain that covers a host: the host's own domain first, then a parent. Undefined if none does.
 */
export function sellerFor({ allowed_sellers: sellers }: Mandate, host: string): string | undefined {
  const name = hostNameOf(host)
  const domains = sellers.map(hostNameOf)
  if (domains.includes(name) || sellers.includes('*')) return name
  return domains.find((domain) => isHostOrParent(domain, name))
}

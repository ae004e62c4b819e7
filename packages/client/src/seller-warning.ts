/**
 * What is wrong with an entry of `allowed_sellers` that no seller can match, in a sentence that names the host which was
 * probably meant; undefined for a domain and for `*`. The service takes any text there, and compares it with the domain
 * of the seller (decision 18).
 */
export function sellerWarning(entry: string): string | undefined {
  if (entry === '*' || isDomain(entry)) return undefined
  const host = hostIn(entry)
  return host === undefined
    ? `${entry} is no domain: no seller has it, so it allows no payment. List each seller by its own domain.`
    : `${entry} is an address, and sellers go by their domain, so it allows no payment. Did you mean ${host}?`
}

/** What no host name has in it, though an address may; an IPv6 address stands in brackets. */
const noPartOfADomain = /[\s/\\?#@%:*]/

function isDomain(text: string): boolean {
  return (!noPartOfADomain.test(text) || /^\[[^\]]*\]$/.test(text)) && URL.canParse(`https://${text}`)
}

/** The host of an address, with its scheme or without. */
function hostIn(text: string): string | undefined {
  const address = `https://${text.replace(/^[a-z][a-z0-9+.-]*:[/\\]+/i, '')}`
  const host = URL.canParse(address) ? new URL(address).hostname.replace(/\.$/, '') : ''
  return host !== '' && isDomain(host) ? host : undefined
}

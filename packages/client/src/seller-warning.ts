/**
 * What is wrong with an entry of `allowed_sellers` that no seller can match, with a suggestion where
 * possible; undefined for a domain and for `*`. The service accepts any text there, and compares it with the
 * domain of the seller (decision 15).
 *
 * @example
 * sellerWarning('https://api.example.com') // '… Did you mean api.example.com?'
 */
export function sellerWarning(entry: string): string | undefined {
  if (entry === '*' || isDomain(entry)) return undefined
  const host = hostIn(entry)
  return host === undefined
    ? `${entry} is not a domain, so it matches no seller and allows no payment. List each seller by its domain.`
    : `${entry} is a URL, not a domain, so it allows no payment. Did you mean ${host}?`
}

/** Characters of a URL that a host name cannot have; an IPv6 address is in brackets. */
const noPartOfADomain = /[\s/\\?#@%:*]/

function isDomain(text: string): boolean {
  return (!noPartOfADomain.test(text) || /^\[[^\]]*\]$/.test(text)) && URL.canParse(`https://${text}`)
}

/** The host of a URL, with or without a scheme. */
function hostIn(text: string): string | undefined {
  const address = `https://${text.replace(/^[a-z][a-z0-9+.-]*:[/\\]+/i, '')}`
  const host = URL.canParse(address) ? new URL(address).hostname.replace(/\.$/, '') : ''
  return host !== '' && isDomain(host) ? host : undefined
}

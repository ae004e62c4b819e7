/**
 * A domain as the service compares it: its host name in lower-case ASCII (IDNA), without a trailing dot. Text that is
 * no host name comes back in lower case, and so equals nothing but itself.
 */
export function hostNameOf(domain: string): string {
  const lower = domain.toLowerCase()
  const address = `https://${lower}`
  if (notInHostName.test(lower) || !URL.canParse(address)) return lower
  return new URL(address).hostname.replace(/(?<=[^.])\.$/, '')
}

/** What a URL would cut off or undo: its other parts, a port, escaped letters. */
const notInHostName = /[\s/\\?#@%]|:\d*$/

/** Whether a host is the domain itself or lies below it. Nothing lies below a single label or a number. */
export function isHostOrParent(domain: string, host: string): boolean {
  const parent = hostNameOf(domain)
  const name = hostNameOf(host)
  return name === parent || (/\.[a-z][^.]*$/.test(parent) && name.endsWith(`.${parent}`))
}

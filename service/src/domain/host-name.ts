import { domainToASCII } from 'node:url'

/**
 * A host name as sellers are compared: lower-case ASCII (IDNA) without a trailing dot.
 * Text that is no host name comes back in lower case, and so equals nothing but itself.
 */
export function normalizeHostName(text: string): string {
  const lower = text.toLowerCase()
  const bare = lower.endsWith('.') ? lower.slice(0, -1) : lower
  if (plainHostName.test(bare)) return bare
  return domainToASCII(bare) || bare
}

/** Most names need no IDNA: letters that are plain ASCII and carry no `xn--`. */
const plainHostName = /^(?!.*xn--)[a-z0-9.-]+$/

/** Whether the host of an address is the domain itself or lies below it. */
export function isWithinDomain(resourceUrl: string, domain: string): boolean {
  if (!URL.canParse(resourceUrl)) return false
  const host = normalizeHostName(new URL(resourceUrl).hostname)
  return host === domain || host.endsWith(`.${domain}`)
}

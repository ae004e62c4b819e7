import { domainToASCII } from 'node:url'

import { parse } from 'tldts'

/**
 * A host name as sellers are compared: lower-case ASCII (IDNA) without a trailing dot.
 * Text that is no host name comes back in lower case, and so equals nothing but itself.
 */
export function normalizeHostName(text: string): string {
  if (text !== latest.text) latest = { text, name: normalized(text) }
  return latest.name
}

/** One payment asks for the same name several times. */
let latest = { text: '', name: '' }

function normalized(text: string): string {
  const lower = withoutTrailingDot(text.toLowerCase())
  if (plainHostName.test(lower) || urlSyntax.test(lower) || tooLong.test(lower)) return lower
  return withoutTrailingDot(domainToASCII(lower)) || lower
}

/** Most names need no IDNA: letters that are plain ASCII and carry no `xn--`. */
const plainHostName = /^(?!.*xn--)[a-z0-9.-]+$/

/** What is no part of a host name, though IDNA would cut it off, skip it or undo it. */
const urlSyntax = /[\s/\\?#@%]/

/** A label of more than 63 characters, or a name of more than 253: IDNA would take time by the square of their length. */
const tooLong = /[^.。．｡]{64}|^.{254}/su

function withoutTrailingDot(name: string): string {
  return name.replace(/(?<=[^.])\.$/, '')
}

/**
 * Whether strangers register names directly below a normalized domain, as below `com`, `co.uk` and `github.io`: it is on the
 * Public Suffix List. A name that the list does not know, such as `localhost`, is none.
 */
export function isPublicSuffix(domain: string): boolean {
  const { publicSuffix, isIcann, isPrivate } = parse(domain, { allowPrivateDomains: true })
  return publicSuffix === domain && (isIcann === true || isPrivate === true)
}

/**
 * Whether the host of an address is the domain itself or lies below it. Nothing lies below a single label, a number or a
 * public suffix: whoever registered `co.uk` is not the parent of every shop there.
 */
export function isWithinDomain(resourceUrl: string, domain: string): boolean {
  if (!URL.canParse(resourceUrl)) return false
  const host = normalizeHostName(new URL(resourceUrl).hostname)
  if (host === domain) return true
  return canBeParent.test(domain) && host.endsWith(`.${domain}`) && !isPublicSuffix(domain)
}

/** Two labels or more, the last of which begins with a letter: so no top-level domain, no IP address. */
const canBeParent = /\.[a-z][^.]*$/

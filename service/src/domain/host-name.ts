import { createRequire } from 'node:module'
import { domainToASCII } from 'node:url'

import type * as tldts from 'tldts'

/**
 * Normalizes a host name for comparing sellers: lower-case ASCII (IDNA) without a trailing dot. Text that is
 * not a host name is only lowercased, and so equals nothing but itself.
 */
export function normalizeHostName(text: string): string {
  if (text !== latest.text) latest = { text, name: normalized(text) }
  return latest.name
}

/** A payment needs the same name several times. */
let latest = { text: '', name: '' }

function normalized(text: string): string {
  const lower = withoutTrailingDot(text.toLowerCase())
  if (plainHostName.test(lower) || urlSyntax.test(lower) || tooLong.test(lower)) return lower
  return withoutTrailingDot(domainToASCII(lower)) || lower
}

/** Most names need no IDNA: letters that are plain ASCII and carry no `xn--`. */
const plainHostName = /^(?!.*xn--)[a-z0-9.-]+$/

/** Characters that a host name cannot have, but that IDNA would strip, skip or decode. */
const urlSyntax = /[\s/\\?#@%]/

/** A label over 63 or a name over 253 characters, for which IDNA would take quadratic time. */
const tooLong = /[^.。．｡]{64}|^.{254}/su

function withoutTrailingDot(name: string): string {
  return name.replace(/(?<=[^.])\.$/, '')
}

/** Loaded when it is first needed: that takes 20 ms, in the thread of the ledger too. */
let suffixList: typeof tldts | undefined

/**
 * Whether a normalized domain is on the Public Suffix List, so that strangers can register names directly
 * below it, as with `com`, `co.uk` and `github.io`. A name that is not on the list, such as `localhost`, is
 * not.
 */
export function isPublicSuffix(domain: string): boolean {
  suffixList ??= createRequire(import.meta.url)('tldts') as typeof tldts
  const { publicSuffix, isIcann, isPrivate } = suffixList.parse(domain, { allowPrivateDomains: true })
  return publicSuffix === domain && (isIcann === true || isPrivate === true)
}

/**
 * Whether a host is the domain itself or a subdomain of it. Single labels, numbers and public suffixes have no
 * subdomains here: the owner of `co.uk` does not own every shop below it.
 */
export function isWithinDomain(resourceUrl: string, domain: string): boolean {
  const url = URL.parse(resourceUrl)
  if (!url) return false
  const host = normalizeHostName(url.hostname)
  if (host === domain) return true
  return canBeParent.test(domain) && host.endsWith(`.${domain}`) && !isPublicSuffix(domain)
}

/** Two or more labels, and the last starts with a letter: not a top-level domain or an IP address. */
const canBeParent = /\.[a-z][^.]*$/

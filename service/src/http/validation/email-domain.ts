import { domainToASCII, domainToUnicode } from 'node:url'

import { errorInMailText, listed } from './email-characters.ts'

/** The reason why a domain cannot receive mail from the internet, or undefined. Does not query DNS. */
export function errorInEmailDomain(domain: string): string | undefined {
  if (domain === '') return 'There must be something after the @-sign.'
  if (/^\[.*\]$/s.test(domain)) return 'A bracketed IP address after the @-sign is not allowed here.'
  const strange = domain.match(/[^a-zA-Z0-9\-.\u0080-\u{10ffff}]/gu)
  if (strange) return `The part after the @-sign contains invalid characters: ${listed(strange)}.`
  const unsafe = errorInMailText(domain)
  if (unsafe !== undefined) return unsafe
  const mapped = mapDomain(domain)
  return errorInDots(mapped) ?? errorInLabels(mapped) ?? errorInName(mapped)
}

/** A valid domain in ASCII and in Unicode. */
export function emailDomain(domain: string): { ascii: string; unicode: string } {
  const ascii = toAscii(mapDomain(domain))
  return { ascii, unicode: domainToUnicode(ascii) }
}

/** Lower case, compatibility characters normalized, and every kind of dot as a period. */
function mapDomain(domain: string): string {
  return domain
    .replace(/[。．｡]/gu, '.')
    .normalize('NFKC')
    .toLowerCase()
    .normalize('NFKC')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
}

function errorInDots(domain: string): string | undefined {
  const strange = domain.match(/[^a-z0-9\-.\u0080-\u{10ffff}]/gu)
  if (strange) {
    return `The part after the @-sign contains invalid characters after Unicode normalization: ${listed(strange)}.`
  }
  if (domain.endsWith('.')) return 'An email address cannot end with a period.'
  if (domain.startsWith('.')) return 'An email address cannot have a period immediately after the @-sign.'
  if (domain.includes('..')) return 'An email address cannot have two periods in a row.'
  if (domain.endsWith('-')) return 'An email address cannot end with a hyphen.'
  if (domain.startsWith('-')) return 'An email address cannot have a hyphen immediately after the @-sign.'
  if (domain.includes('.-') || domain.includes('-.')) {
    return 'An email address cannot have a period and a hyphen next to each other.'
  }
  return undefined
}

function errorInLabels(domain: string): string | undefined {
  for (const label of domain.split('.')) {
    if (/^(?!xn)..--/u.test(label)) {
      return 'An email address cannot have two letters followed by two dashes immediately after the @-sign or after a period, except Punycode.'
    }
    if (!isAscii(label) && !isIdnLabel(label)) return `The part after the @-sign is invalid ('${label}').`
    if (label.startsWith('xn--') && !isIdnLabel(domainToUnicode(label))) {
      return `The part after the @-sign is not valid IDNA ('${label}').`
    }
  }
  return undefined
}

const maxDomainLength = 253
const maxLabelLength = 63

function errorInName(domain: string): string | undefined {
  const ascii = toAscii(domain)
  if (ascii.length > maxDomainLength) {
    return `The email address is too long after the @-sign ${tooMany(ascii.length - maxDomainLength)}.`
  }
  const long = ascii.split('.').find((label) => label.length > maxLabelLength)
  if (long !== undefined) {
    return `After the @-sign, periods cannot be separated by so many characters ${tooMany(long.length - maxLabelLength)}.`
  }
  if (!ascii.includes('.')) return 'The part after the @-sign is not valid. It should have a period.'
  if (!/[a-z]$/.test(ascii)) {
    return 'The part after the @-sign is not valid. It is not within a valid top-level domain.'
  }
  if (specialUse.test(ascii)) {
    return 'The part after the @-sign is a special-use or reserved name that cannot be used with email.'
  }
  return undefined
}

/** Reserved names (RFC 6761, RFC 6762, RFC 7686), and all their subdomains. */
const specialUse = /(?:^|\.)(?:arpa|invalid|local|localhost|onion|test)$/

function tooMany(excess: number): string {
  return `(${excess} ${excess === 1 ? 'character' : 'characters'} too many)`
}

function toAscii(domain: string): string {
  return isAscii(domain) ? domain : domainToASCII(domain)
}

function isAscii(text: string): boolean {
  // oxlint-disable-next-line no-control-regex -- ASCII has them
  return /^[\0-\x7f]*$/.test(text)
}

/**
 * Whether IDNA 2008 (RFC 5892) allows a label. It is stricter than browsers: letters, digits and marks, no symbols.
 * Context and direction rules are left to the URL library.
 */
function isIdnLabel(label: string): boolean {
  if (isAscii(label) || !idnLabel.test(label) || exceptions.test(label) || label.normalize('NFC') !== label)
    return false
  if (misplaced.some((pattern) => pattern.test(label))) return false
  const ascii = domainToASCII(label)
  return ascii.startsWith('xn--') && domainToUnicode(ascii) === label
}

const idnLabel = /^(?!\p{M})[\p{Ll}\p{Lo}\p{Lm}\p{Mn}\p{Mc}\p{Nd}\-·͵׳״۽۾་〇・]+$/u

/** Disallowed letters and marks: fillers, repetition signs and old Hangul. */
const exceptions = /[ـߺ〱-〵〻\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7ff]|\u302e|\u302f/u

/** Characters allowed only next to certain others (RFC 5892, appendix A). */
const misplaced = [
  /(?<!l)·|·(?!l)/u,
  /͵(?!\p{Script=Greek})/u,
  /(?<!\p{Script=Hebrew})[׳״]/u,
  /^(?![^]*[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}])[^]*・/u,
  /^(?=[^]*[\u0660-\u0669])[^]*[\u06f0-\u06f9]/u,
]

import { domainToASCII, domainToUnicode } from 'node:url'

import { faultInMailText, listed } from './email-characters.ts'

/** Why a domain cannot receive mail from everywhere, or undefined. Nobody is asked whether it exists. */
export function faultInEmailDomain(domain: string): string | undefined {
  if (domain === '') return 'There must be something after the @-sign.'
  if (/^\[.*\]$/s.test(domain)) return 'A bracketed IP address after the @-sign is not allowed here.'
  const strange = domain.match(/[^a-zA-Z0-9\-.\u0080-\u{10ffff}]/gu)
  if (strange) return `The part after the @-sign contains invalid characters: ${listed(strange)}.`
  const unsafe = faultInMailText(domain)
  if (unsafe !== undefined) return unsafe
  const mapped = mapDomain(domain)
  return faultInDots(mapped) ?? faultInLabels(mapped) ?? faultInName(mapped)
}

/** A domain without faults as DNS writes it and as people do. */
export function emailDomain(domain: string): { ascii: string; unicode: string } {
  const ascii = toAscii(mapDomain(domain))
  return { ascii, unicode: domainToUnicode(ascii) }
}

/** Letters in small, compatible forms of a character as the character, and every kind of dot as a dot. */
function mapDomain(domain: string): string {
  return domain
    .replace(/[。．｡]/gu, '.')
    .normalize('NFKC')
    .toLowerCase()
    .normalize('NFKC')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
}

function faultInDots(domain: string): string | undefined {
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

function faultInLabels(domain: string): string | undefined {
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

function faultInName(domain: string): string | undefined {
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

/** Names that are kept for other uses (RFC 6761, RFC 6762, RFC 7686), and all below them. */
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
 * Whether a label is allowed by IDNA 2008 (RFC 5892), which is stricter than what browsers do: letters,
 * digits and marks, no symbols. What depends on neighbours and on direction is left to the URL library.
 */
function isIdnLabel(label: string): boolean {
  if (isAscii(label) || !idnLabel.test(label) || exceptions.test(label) || label.normalize('NFC') !== label)
    return false
  if (misplaced.some((pattern) => pattern.test(label))) return false
  const ascii = domainToASCII(label)
  return ascii.startsWith('xn--') && domainToUnicode(ascii) === label
}

const idnLabel = /^(?!\p{M})[\p{Ll}\p{Lo}\p{Lm}\p{Mn}\p{Mc}\p{Nd}\-·͵׳״۽۾་〇・]+$/u

/** Letters and marks that are not allowed all the same: fillers, repetition signs and old Hangul. */
const exceptions = /[ـߺ〱-〵〻\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7ff]|\u302e|\u302f/u

/** Characters that are allowed beside certain others only (RFC 5892, appendix A). */
const misplaced = [
  /(?<!l)·|·(?!l)/u,
  /͵(?!\p{Script=Greek})/u,
  /(?<!\p{Script=Hebrew})[׳״]/u,
  /^(?![^]*[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}])[^]*・/u,
  /^(?=[^]*[\u0660-\u0669])[^]*[\u06f0-\u06f9]/u,
]

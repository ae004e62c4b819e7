import { maxLengths } from '@purser/wire/lengths'

import { emailDomain, errorInEmailDomain } from './email-domain.ts'
import { errorInMailText, listed } from './email-characters.ts'
import { Refusal, refuse, refuseIllFormed, type Reader } from './refusal.ts'
import { isLonger } from './text.ts'

/** Validates email addresses, also in the form `Ada <ada@example.com>`, and passes them on unchanged. */
export const emailReader: Reader = (input) => {
  if (typeof input !== 'string') return refuse('string_type', input)
  if (!input.isWellFormed()) return refuseIllFormed(input)
  const reason = errorInEmail(input)
  if (reason === undefined) return input
  const msg = `value is not a valid email address: ${reason}`
  return new Refusal([{ type: 'value_error', loc: [], msg, input, ctx: { reason } }])
}

/** The reason why a text is not an email address that can receive mail from the internet, or undefined. */
export function errorInEmail(text: string): string | undefined {
  if (isLonger(text, maxTextLength)) return `Length must not exceed ${maxTextLength} characters`
  const address = (namedAddress.exec(text)?.[1] ?? text).replace(spacesAround, '')
  const at = findUnquoted(address, '@<')
  if (at === undefined) return missingAt(address)
  if (address[at] === '<')
    return 'A display name and angle brackets around the email address are not permitted here.'

  const local = address.slice(0, at)
  const domain = address.slice(at + 1)
  if (local.startsWith('"')) return 'Quoting the part before the @-sign is not allowed here.'
  return (
    errorInLocalPart(local) ??
    errorInNormalized(local) ??
    errorInEmailDomain(domain) ??
    errorInLength(local, domain)
  )
}

/** Far longer than any address: only bounds the work. */
const maxTextLength = maxLengths.email

// Listed explicitly, because `\s` differs between languages.
const space = '[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]'
const spacesAround = new RegExp(`^${space}+|${space}+$`, 'g')

/** An address in angle brackets, with an optional name before it, quoted unless it is plain words. */
const nameWord = "[\\p{L}\\p{N}_!#$%&'*+\\-/=?^`{|}~]+"
const namedAddress = new RegExp(
  `^${space}*(?:(?:${nameWord}${space}+)*${nameWord}|"[^]+")?${space}*<([^\\n]+)>${space}*$`,
  'u',
)

/** The position of the first of these characters outside quotes. */
function findUnquoted(text: string, specials: string): number | undefined {
  let quoted = false
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at)
    if (character === '"') quoted = !quoted
    else if (quoted && character === '\\') at++
    else if (!quoted && specials.includes(character) && standsAlone(text, at)) return at
  }
  return undefined
}

/** A combining character changes the character before it: `<` and U+0338 are `≮`. */
function standsAlone(text: string, at: number): boolean {
  return text
    .slice(at, at + 32)
    .normalize('NFC')
    .startsWith(text.charAt(at))
}

function missingAt(address: string): string {
  if (address.includes('＠')) {
    return 'The email address has the "full-width" at-sign (@) character instead of a regular at-sign.'
  }
  if (address.includes('﹫')) {
    return 'The email address has the "small commercial at" character instead of a regular at-sign.'
  }
  return 'An email address must have an @-sign.'
}

const atom = "a-zA-Z0-9_!#$%&'*+\\-/=?^`{|}~"
const dotAtom = new RegExp(`^[${atom}]+(?:\\.[${atom}]+)*$`)
const internationalDotAtom = new RegExp(
  `^[${atom}\\u0080-\\u{10ffff}]+(?:\\.[${atom}\\u0080-\\u{10ffff}]+)*$`,
  'u',
)
const strangers = new RegExp(`[^.${atom}\\u0080-\\u{10ffff}]`, 'gu')

function errorInLocalPart(local: string): string | undefined {
  if (local === '') return 'There must be something before the @-sign.'
  if (dotAtom.test(local)) return undefined
  if (internationalDotAtom.test(local)) return errorInMailText(local)
  const strange = local.match(strangers)
  if (strange) return `The email address contains invalid characters before the @-sign: ${listed(strange)}.`
  if (local.endsWith('.')) return 'An email address cannot have a period immediately before the @-sign.'
  if (local.startsWith('.')) return 'An email address cannot start with a period.'
  return 'An email address cannot have two periods in a row.'
}

/** Mail software may send the normalized form, so that must be valid too. */
function errorInNormalized(local: string): string | undefined {
  const normalized = local.normalize('NFC')
  const error = normalized === local ? undefined : errorInLocalPart(normalized)
  return error === undefined ? undefined : `After Unicode normalization: ${error}`
}

/** Longest address in SMTP, in bytes. */
const maxLength = 254

function errorInLength(local: string, domain: string): string | undefined {
  const { ascii, unicode } = emailDomain(domain)
  const forms = [
    `${local}@${domain}`,
    `${local.normalize('NFC')}@${unicode}`,
    `${local.normalize('NFC')}@${ascii}`,
  ]
  const excess = Math.max(...forms.map((form) => Buffer.byteLength(form))) - maxLength
  if (excess <= 0) return undefined
  return `The email address is too long (${excess} ${excess === 1 ? 'character' : 'characters'} too many).`
}

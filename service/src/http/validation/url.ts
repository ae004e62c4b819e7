import { domainToUnicode } from 'node:url'

import { refuse, refuseIllFormed, refuseNul, type Reader } from './refusal.ts'

/** Validates http and https URLs. The length counts the UTF-8 bytes of the original text. */
export function urlReader(maxLength = Infinity): Reader {
  return (input) => {
    if (typeof input !== 'string') return refuse('url_type', input)
    if (!input.isWellFormed()) return refuseIllFormed(input)
    if (input.includes('\0')) return refuseNul(input)
    if (input.length * 3 > maxLength && Buffer.byteLength(input) > maxLength) {
      return refuse('url_too_long', input, { max_length: maxLength })
    }
    if (plainAddress.test(input) && URL.canParse(input)) return input
    const error = errorIn(input)
    if (error !== undefined) return refuse('url_parsing', input, { error })
    if (!webScheme.test(stripped(input)))
      return refuse('url_scheme', input, { expected_schemes: "'http' or 'https'" })
    return input
  }
}

/** Matches most URLs; a host of ASCII letters without `xn--` needs no IDNA check. */
const plainAddress = /^https?:\/\/(?!(?:[^/]*\.)?xn--)[a-z0-9.-]+(?:[/:?#]|$)/

const webScheme = /^https?:/i
const anyScheme = /^[a-z][a-z0-9+.-]*:/i

/**
 * The text without what URL parsers strip: surrounding control characters and spaces, and tabs and line breaks
 * anywhere.
 */
function stripped(text: string): string {
  // oxlint-disable-next-line no-control-regex -- these are stripped
  return text.replace(/^[\0- ]+|[\0- ]+$/g, '').replace(/[\t\n\r]/g, '')
}

/** The reason why a text is not a URL, or undefined. */
function errorIn(text: string): string | undefined {
  if (text === '') return 'input is empty'
  const url = stripped(text)
  if (!anyScheme.test(url)) return 'relative URL without a base'
  const parsed = URL.parse(url)
  if (parsed && (!specialScheme.test(url) || !hasBrokenPunycode(parsed.hostname))) return undefined

  const authority = /^[^:]*:[/\\]*([^/\\?#]*)/.exec(url)?.[1] ?? ''
  const place = authority.slice(authority.lastIndexOf('@') + 1)
  const [, host = '', port] = /^(\[[^\]]*\]?|[^:]*)(?::(.*))?$/s.exec(place) ?? []
  if (host === '') return 'empty host'
  if (parsed) return 'invalid international domain name'
  if (URL.canParse(`http://${host}/`) && port !== undefined) return 'invalid port number'
  if (host.startsWith('[')) return 'invalid IPv6 address'
  if (!specialScheme.test(url)) return 'invalid domain character'
  // With a trailing letter it is no longer a number, and any other error remains.
  const isAddress = endsInNumber.test(host) && URL.canParse(`http://${host}x/`)
  return isAddress ? 'invalid IPv4 address' : 'invalid international domain name'
}

/** Hosts of these schemes are internet names; those of others can be anything. */
const specialScheme = /^(?:https?|wss?|ftp|file):/i
const endsInNumber = /(?:^|\.)(?:[0-9]+|0x[0-9a-f]*)\.?$/i

/** The URL parser accepts labels that claim to be Punycode but are not. */
function hasBrokenPunycode(host: string): boolean {
  return host.split('.').some((label) => label.startsWith('xn--') && domainToUnicode(label) === label)
}

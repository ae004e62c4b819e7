import { domainToASCII } from 'node:url'

import { refuse, refuseIllFormed, type Reader } from './refusal.ts'

/**
 * Validates host names: domains, single labels such as `localhost`, and IP addresses (version 6 in brackets). A
 * scheme, a port or a path is not part of a host name.
 */
export const hostNameReader: Reader = (input) => {
  if (typeof input !== 'string') return refuse('string_type', input)
  if (!input.isWellFormed()) return refuseIllFormed(input)
  return isHostName(input.trim())
    ? input
    : refuse('value_error', input, {
        error: 'value is not a host name such as api.example.com, without scheme, port and path',
      })
}

function isHostName(text: string): boolean {
  // URL delimiters would truncate the name, and percent signs could encode letters.
  if (/[\s/\\?#@%]/.test(text)) return false
  const ascii = domainToASCII(text)
  if (/^\[[0-9a-f:.]+\]$/.test(ascii)) return true
  const name = ascii.endsWith('.') ? ascii.slice(0, -1) : ascii
  return name.length <= maxLength && name.split('.').every((label) => hostLabel.test(label))
}

/** Longest name in DNS. */
const maxLength = 253

const hostLabel = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/

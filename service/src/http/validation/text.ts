import type { SchemaOptions } from '@purser/wire/schema/type'

import { refuse, refuseIllFormed, refuseNul, type Reader } from './refusal.ts'

/** Validates text; number rules apply to text that matches the pattern. */
export function textReader(rules: SchemaOptions): Reader {
  const { minLength = 0, maxLength = Infinity } = rules
  const pattern = rules.pattern === undefined ? undefined : new RegExp(rules.pattern)
  const maxWholeDigits = rules['x-max-whole-digits'] ?? Infinity
  const aboveZero = rules['x-above-zero'] ?? false
  if ((maxWholeDigits < Infinity || aboveZero) && !pattern) {
    throw new TypeError('rules about numbers need a pattern that lets only numbers through')
  }
  return (input) => {
    if (typeof input !== 'string') return refuse('string_type', input)
    if (!input.isWellFormed()) return refuseIllFormed(input)
    if (input.includes('\0')) return refuseNul(input)
    if (isShorter(input, minLength)) {
      return refuse('string_too_short', input, { min_length: minLength })
    }
    if (isLonger(input, maxLength)) return refuse('string_too_long', input, { max_length: maxLength })
    if (pattern && !pattern.test(input)) {
      return refuse('string_pattern_mismatch', input, { pattern: rules.pattern })
    }
    if (wholeDigits(input) > maxWholeDigits) {
      return refuse('decimal_whole_digits', input, { whole_digits: maxWholeDigits })
    }
    if (aboveZero && !/[1-9]/.test(input)) return refuse('greater_than', input, { gt: 0 })
    return input
  }
}

/** Refuses longer texts before another reader reads them. */
export function boundedReader(read: Reader, maxLength = Infinity): Reader {
  return (input) =>
    typeof input === 'string' && isLonger(input, maxLength)
      ? refuse('string_too_long', input, { max_length: maxLength })
      : read(input)
}

/** A code point takes at most two code units, so most texts need no counting. */
function isShorter(text: string, minLength: number): boolean {
  return text.length < 2 * minLength && codePoints(text) < minLength
}

/** Most texts are so short that their code points need no counting. */
export function isLonger(text: string, maxLength: number): boolean {
  return text.length > maxLength && codePoints(text) > maxLength
}

/** The number of code points of a text. */
export function codePoints(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}

function wholeDigits(text: string): number {
  const point = text.indexOf('.')
  return point < 0 ? text.length : point
}

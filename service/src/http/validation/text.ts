import { refuse, refuseIllFormed, refuseNul, type Reader } from './refusal.ts'

/** What a schema can ask of a text. Lengths count code points. */
export interface TextRules {
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  /** Most digits before the point of a decimal number. */
  readonly 'x-max-whole-digits'?: number
  /** Whether a decimal number must be more than zero. */
  readonly 'x-above-zero'?: boolean
}

/** Reads text; the rules about decimal numbers apply to what the pattern lets through. */
export function textReader(rules: TextRules): Reader {
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
    if (minLength > 0 && codePoints(input) < minLength) {
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

/** Reads what another reader reads, and refuses longer texts before. */
export function boundedReader(read: Reader, maxLength = Infinity): Reader {
  return (input) =>
    typeof input === 'string' && isLonger(input, maxLength)
      ? refuse('string_too_long', input, { max_length: maxLength })
      : read(input)
}

/** Most texts are short, and then their code points need no counting. */
export function isLonger(text: string, maxLength: number): boolean {
  return text.length > maxLength && codePoints(text) > maxLength
}

/** How many characters a text has, as people who write in UTF-8 count. */
export function codePoints(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}

function wholeDigits(text: string): number {
  const point = text.indexOf('.')
  return point < 0 ? text.length : point
}

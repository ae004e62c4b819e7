import type { SchemaOptions } from '@purser/wire/schema/type'

import { refuse, type Reader } from './refusal.ts'

/** Validates integers: JSON numbers in a body, text in a query. */
export function integerReader(rules: SchemaOptions, where: 'body' | 'query'): Reader {
  const { minimum = -Infinity, maximum = Infinity } = rules
  return (input) => {
    if (where === 'body' && !Number.isInteger(input)) return refuse('int_type', input)
    if (where === 'query' && hasTooManyDigits(String(input))) return refuse('int_parsing_size', input)
    const value = where === 'query' ? parseInteger(String(input)) : Number(input)
    if (value === undefined) return refuse('int_parsing', input)
    if (value > maximum) return refuse('less_than_equal', input, { le: maximum })
    if (value < minimum) return refuse('greater_than_equal', input, { ge: minimum })
    return value
  }
}

/**
 * The integer in a text, or undefined. Allows surrounding spaces, a plus sign, leading zeros, single underscores
 * between digits and a zero fraction.
 */
function parseInteger(text: string): number | undefined {
  const match = integerText.exec(text)
  if (!match) return undefined
  const [, sign = '', digits = ''] = match
  const value = Number(digits.replaceAll('_', ''))
  return sign === '-' ? 0 - value : value
}

// Underscores among leading zeros may be anywhere; later ones only singly between digits.
const integerText =
  /^\p{White_Space}*([+-]?)(?:0[0_]*)?((?:[1-9][0-9]*(?:_[0-9]+)*)|(?<=0))(?:\.0+)?\p{White_Space}*$/u

/** Longer numbers are refused unparsed: parsing them takes quadratic time in many languages. */
const maxDigits = 4300

function hasTooManyDigits(text: string): boolean {
  return text.length > maxDigits && /^-?[1-9][0-9]*$/.test(text)
}

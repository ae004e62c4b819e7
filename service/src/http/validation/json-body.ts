import { isAscii, isUtf8 } from 'node:buffer'

import type { ValidationItem } from '@purser/wire/errors'

import { isJsonContentType } from './content-type.ts'
import { findJsonError } from './json-error.ts'
import { errorOf } from './refusal.ts'

/** The result of reading a body. */
export type BodyReading =
  /** A JSON value, or the text of a body that is not declared as JSON; undefined if there is no body. */
  | { readonly kind: 'value'; readonly value: unknown; readonly json?: string }
  /** The body is declared as JSON but invalid: the items of the 422. */
  | { readonly kind: 'invalid'; readonly items: ValidationItem[] }
  /** The body is unreadable: not UTF-8, nested too deeply, or with a number that is too long. */
  | { readonly kind: 'unreadable' }

/**
 * The value of a request body, read according to its content type (Errors, 422). JSON values come with their `json`
 * text, for `echoExactly`.
 */
export function readJsonBody(bytes: Buffer, contentType: string | undefined): BodyReading {
  if (bytes.length === 0) return { kind: 'value', value: undefined }
  const ascii = isAscii(bytes)
  if (!ascii && !isUtf8(bytes)) return unreadable
  const text = ascii ? bytes.toString('latin1') : bytes.toString('utf8')
  if (!isJsonContentType(contentType)) return { kind: 'value', value: text }

  const json = text.startsWith(byteOrderMark) ? text.slice(1) : text
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch {
    return readError(json)
  }
  if (json.length > maxIntegerDigits && tooManyDigits.test(json)) return readError(json, value)
  // With less than a pair of brackets per level, it cannot be too deep.
  if (json.length > 2 * maxDepth && isDeeperThan(maxDepth, value)) return unreadable
  return { kind: 'value', value, json }
}

/** Max open brackets at any point. */
const maxDepth = 200

/** Longer integers are refused: parsing them takes quadratic time in many languages. */
const maxIntegerDigits = 4300
// Reads each run of digits once: without the first part, the search would restart at every digit.
const tooManyDigits = new RegExp(`(?<![0-9])[0-9]{${maxIntegerDigits + 1}}`)

const byteOrderMark = '\uFEFF'
const unreadable: BodyReading = { kind: 'unreadable' }

/** The slow path: finds the error in the text, if any. */
function readError(json: string, value?: unknown): BodyReading {
  const error = findJsonError(json, { maxDepth, maxIntegerDigits })
  if (error === 'unreadable') return unreadable
  if (error)
    return {
      kind: 'invalid',
      items: [errorOf('json_invalid', ['body', error.position], {}, { error: error.error })],
    }
  if (value === undefined) throw new Error('JSON that cannot be parsed has a error')
  return { kind: 'value', value, json }
}

function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  if (Array.isArray(value)) return value.some((item) => isDeeperThan(levels - 1, item))
  for (const key in value) {
    if (isDeeperThan(levels - 1, (value as Record<string, unknown>)[key])) return true
  }
  return false
}

import { isAscii, isUtf8 } from 'node:buffer'

import type { ValidationItem } from '@purser/wire/errors'

import { isJsonContentType } from './content-type.ts'
import { findJsonFault } from './json-fault.ts'
import { faultOf } from './refusal.ts'

/** What the bytes of a body stand for. */
export type BodyReading =
  /** A JSON value, or the text of a body that is not declared as JSON; undefined when there is no body. */
  | { readonly kind: 'value'; readonly value: unknown; readonly json?: string }
  /** The body is declared as JSON and is none: the items of the 422 answer. */
  | { readonly kind: 'invalid'; readonly items: ValidationItem[] }
  /** The body cannot be read at all: not UTF-8, nested too deeply, or with a number beyond all measure. */
  | { readonly kind: 'unreadable' }

/**
 * The value of a request body, read as its content type says (Errors, 422).
 * A value that was read from JSON has the `json` text beside it, for `echoExactly`.
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
    return readFault(json)
  }
  if (json.length > maxIntegerDigits && tooManyDigits.test(json)) return readFault(json, value)
  // Less than a pair of brackets for each level cannot be too deep.
  if (json.length > 2 * maxDepth && isDeeperThan(maxDepth, value)) return unreadable
  return { kind: 'value', value, json }
}

/** Most brackets that can be open at once. */
const maxDepth = 200

/** Longer integers are refused: turning them into a number takes quadratic time in many languages. */
const maxIntegerDigits = 4300
// It looks at each run of digits once only: without the first part it would start again at every digit.
const tooManyDigits = new RegExp(`(?<![0-9])[0-9]{${maxIntegerDigits + 1}}`)

const byteOrderMark = '\uFEFF'
const unreadable: BodyReading = { kind: 'unreadable' }

/** The slow way: finds what is wrong with the text, or says that nothing is. */
function readFault(json: string, value?: unknown): BodyReading {
  const fault = findJsonFault(json, { maxDepth, maxIntegerDigits })
  if (fault === 'unreadable') return unreadable
  if (fault)
    return {
      kind: 'invalid',
      items: [faultOf('json_invalid', ['body', fault.position], {}, { error: fault.error })],
    }
  if (value === undefined) throw new Error('JSON that cannot be parsed has a fault')
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

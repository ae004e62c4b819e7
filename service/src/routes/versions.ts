import { ok, refuse, unprocessable, type Answer } from '../http/answers.ts'
import { errorOf } from '../http/validation/refusal.ts'

/**
 * The version that an `If-Match` header names, or the answer to a request whose header is missing or names none. Proxies that
 * compress mark tags as weak.
 */
export function readIfMatch(tag: string | undefined): number | Answer {
  if (tag === undefined) return refuse('if_match_required')
  const [, digits] = /^(?:W\/)?"([1-9]\d{0,9})"$/.exec(tag) ?? []
  if (digits !== undefined) return Number(digits)
  const error = 'send the ETag of the record as it was read, one version in double quotes such as "1"'
  return unprocessable([errorOf('value_error', ['header', 'if-match'], tag, { error })])
}

interface Versioned {
  readonly version: number
  readonly [field: string]: unknown
}

/** A record with its version as entity tag. */
export function okVersioned(record: Versioned): Answer {
  return ok(record, { etag: `"${record.version}"` })
}

import type { Endpoint } from '@purser/wire/endpoint'
import type { ValidationItem } from '@purser/wire/errors'
import { refusesUnknownParameters } from '@purser/wire/interface-endpoints'

import { faultOf } from './refusal.ts'
import { compileValidator, type Validation } from './validator.ts'

/**
 * The reader of an endpoint's query; undefined where there is nothing to read: it takes no parameters, and ignores those
 * that it does not know.
 */
export function compileQueryReader(
  endpoint: Endpoint,
): ((query: unknown) => Validation<unknown>) | undefined {
  const validate = endpoint.query && compileValidator(endpoint.query, 'query')
  if (!refusesUnknownParameters(endpoint)) return validate
  const known = Object.keys(endpoint.query?.properties ?? {})
  return (query) => {
    const unknown = unknownParameters(query as Readonly<Record<string, unknown>>, known)
    const validation = validate?.(query) ?? { ok: true as const, value: undefined }
    if (unknown.length === 0) return validation
    return { ok: false, items: validation.ok ? unknown : [...unknown, ...validation.items] }
  }
}

/** If a mistyped filter were ignored, the answer would be everything. */
function unknownParameters(
  query: Readonly<Record<string, unknown>>,
  known: readonly string[],
): ValidationItem[] {
  const ctx = { known: known.join(', ') || 'no query parameters' }
  return Object.keys(query)
    .filter((name) => !known.includes(name))
    .map((name) => faultOf('extra_forbidden', ['query', name], query[name], ctx))
}

import type { Endpoint } from '@purser/wire/endpoint'
import type { ValidationItem } from '@purser/wire/errors'
import { refusesUnknownParameters } from '@purser/wire/interface-endpoints'

import { errorOf } from './refusal.ts'
import { compileValidator, type Validation } from './validator.ts'

/** The reader of an endpoint's query; undefined for endpoints without parameters, which ignore unknown ones. */
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

/** If a mistyped filter were ignored, the response would contain everything. */
function unknownParameters(
  query: Readonly<Record<string, unknown>>,
  known: readonly string[],
): ValidationItem[] {
  const ctx = { known: known.join(', ') || 'no query parameters' }
  return Object.keys(query)
    .filter((name) => !known.includes(name))
    .map((name) => errorOf('extra_forbidden', ['query', name], query[name], ctx))
}

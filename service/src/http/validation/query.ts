import type { Endpoint } from '@purser/wire/endpoint'
import type { ValidationItem } from '@purser/wire/errors'
import { refusesUnknownParameters } from '@purser/wire/interface-endpoints'

import { errorOf } from './refusal.ts'
import { compileValidator, type Validation } from './validator.ts'

/** The reader of an endpoint's query; undefined for endpoints without parameters, which ignore unknown ones. */
export function compileQueryReader(
  endpoint: Endpoint,
): ((query: unknown) => Validation<unknown>) | undefined {
  const validateFlat = endpoint.query && compileValidator(endpoint.query, 'query')
  const maps = Object.entries(endpoint.query?.properties ?? {}).flatMap(([name, schema]) =>
    (schema as { readonly type?: unknown }).type === 'object' ? [name] : [],
  )
  const validate =
    validateFlat && maps.length > 0 ? (query: unknown) => validateFlat(withMaps(query, maps)) : validateFlat
  if (!refusesUnknownParameters(endpoint)) return validate
  const known = Object.keys(endpoint.query?.properties ?? {})
  return (query) => {
    const unknown = unknownParameters(query as Readonly<Record<string, unknown>>, { known, maps })
    const validation = validate?.(query) ?? { ok: true as const, value: undefined }
    if (unknown.length === 0) return validation
    return { ok: false, items: validation.ok ? unknown : [...unknown, ...validation.items] }
  }
}

/** An entry of a map: `metadata[project]=apollo`. */
const entryOfMap = /^(\w+)\[(.*)\]$/s

/** The query with each map as one object, from its entries. */
function withMaps(query: unknown, maps: readonly string[]): Record<string, unknown> {
  const flat: [string, unknown][] = []
  const entries = new Map<string, [string, unknown][]>()
  for (const [name, value] of Object.entries(query as Readonly<Record<string, unknown>>)) {
    const [, map = '', key = ''] = entryOfMap.exec(name) ?? []
    if (!maps.includes(map)) flat.push([name, value])
    // A parameter may be repeated: the last one counts.
    else entries.set(map, [...(entries.get(map) ?? []), [key, Array.isArray(value) ? value.at(-1) : value]])
  }
  return Object.fromEntries([
    ...flat,
    ...[...entries].map(([map, own]) => [map, Object.fromEntries(own)] as const),
  ])
}

/** If a mistyped filter were ignored, the response would contain everything. */
function unknownParameters(
  query: Readonly<Record<string, unknown>>,
  { known, maps }: { readonly known: readonly string[]; readonly maps: readonly string[] },
): ValidationItem[] {
  const ctx = { known: known.join(', ') || 'no query parameters' }
  return Object.keys(query)
    .filter((name) => !known.includes(name) && !maps.includes(entryOfMap.exec(name)?.[1] ?? ''))
    .map((name) => errorOf('extra_forbidden', ['query', name], query[name], ctx))
}

import { maxErrors } from '../../limits.ts'
import { Refusal, refuse, type Reader } from './refusal.ts'

/** A field of an object and its reader. */
export interface Field {
  readonly name: string
  readonly read: Reader
  readonly required: boolean
  /** The default of an absent field; undefined if there is none. */
  readonly default: unknown
}

interface ModelOptions {
  /** Other fields are dropped, refused, or kept: then the object is passed on unchanged. */
  readonly others: 'drop' | 'refuse' | 'keep'
  /** Whether a field may have several values in a list; the last one counts. */
  readonly fromQuery: boolean
}

/** Validates objects with known fields; errors are in the order of the fields. */
export function modelReader(fields: readonly Field[], { others, fromQuery }: ModelOptions): Reader {
  const keepsUnknown = others === 'keep'
  const known = fields.map(({ name }) => name)
  if (keepsUnknown && fields.some((field) => field.default !== undefined)) {
    throw new TypeError('an object that is handed on as it came cannot have defaults filled in')
  }
  return (input) => {
    if (!isRecord(input)) return refuse('model_attributes_type', input)
    const value: Record<string, unknown> = keepsUnknown ? input : {}
    let refusal: Refusal | undefined
    for (const field of fields) {
      const { name } = field
      // Inherited names such as `constructor` do not count.
      if (!Object.hasOwn(input, name)) {
        if (field.required) refusal = join(refusal, refuse('missing', input).under(name))
        else if (field.default !== undefined) value[name] = fresh(field.default)
        continue
      }
      const given = input[name]
      const read = field.read(fromQuery && Array.isArray(given) ? given.at(-1) : given)
      if (read instanceof Refusal) refusal = join(refusal, read.under(name))
      else if (!keepsUnknown) value[name] = read
    }
    if (others === 'refuse') {
      const ctx = { known: known.join(', ') || 'no fields' }
      const unknown = Object.keys(input).filter((name) => !known.includes(name))
      for (const name of unknown.slice(0, maxErrors))
        refusal = join(refusal, refuse('extra_forbidden', input[name], ctx).under(placeOf(name)))
    }
    return refusal ?? value
  }
}

interface DictOptions {
  readonly maxProperties: number | undefined
  readonly readName: Reader
  readonly readValue: Reader
}

/** Validates objects with arbitrary keys, all of whose values have one schema. They are passed on unchanged. */
export function dictReader({ maxProperties = Infinity, readName, readValue }: DictOptions): Reader {
  return (input) => {
    if (!isRecord(input)) return refuse('dict_type', input)
    const names = Object.keys(input)
    if (names.length > maxProperties) {
      return refuse('too_long', input, {
        field_type: 'Dictionary',
        max_length: maxProperties,
        actual_length: names.length,
      })
    }
    let refusal: Refusal | undefined
    for (const name of names) {
      for (const read of [readName(name), readValue(input[name])]) {
        if (read instanceof Refusal) refusal = join(refusal, read.under(placeOf(name)))
      }
      if (refusal && refusal.items.length >= maxErrors) break
    }
    return refusal ?? input
  }
}

const maxPlaceLength = 40

/** The name in the location of an error, which cannot be longer than the longest valid name. */
function placeOf(name: string): string {
  return name.slice(0, maxPlaceLength).toWellFormed()
}

function isRecord(input: unknown): input is Record<string, unknown> {
  return typeof input === 'object' && input !== null && !Array.isArray(input)
}

function join(before: Refusal | undefined, next: Refusal): Refusal {
  return before ? before.and(next) : next
}

/** A mutable default must not be shared between requests. */
function fresh(value: unknown): unknown {
  return typeof value === 'object' ? structuredClone(value) : value
}

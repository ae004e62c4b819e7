import { Refusal, refuse, type Reader } from './refusal.ts'

/** A named part of an object and how it is read. */
export interface Field {
  readonly name: string
  readonly read: Reader
  readonly required: boolean
  /** The value of the field when it is absent; undefined when there is none. */
  readonly default: unknown
}

interface ModelOptions {
  /** Whether the object is handed on as it came, whatever else it carries. */
  readonly keepsUnknown: boolean
  /** Whether a field may come several times, in a list: then the last one counts. */
  readonly fromQuery: boolean
}

/** Reads objects with known fields; faults come in the order of the fields. */
export function modelReader(fields: readonly Field[], { keepsUnknown, fromQuery }: ModelOptions): Reader {
  if (keepsUnknown && fields.some((field) => field.default !== undefined)) {
    throw new TypeError('an object that is handed on as it came cannot have defaults filled in')
  }
  return (input) => {
    if (!isRecord(input)) return refuse('model_attributes_type', input)
    const value: Record<string, unknown> = keepsUnknown ? input : {}
    let refusal: Refusal | undefined
    for (const field of fields) {
      const { name } = field
      // Names that every object inherits, `constructor` for one, are not given.
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
    return refusal ?? value
  }
}

/** Reads objects whose keys and values are the caller's own. */
export function dictReader(maxProperties = Infinity): Reader {
  return (input) => {
    if (!isRecord(input)) return refuse('dict_type', input)
    const count = Object.keys(input).length
    if (count <= maxProperties) return input
    return refuse('too_long', input, {
      field_type: 'Dictionary',
      max_length: maxProperties,
      actual_length: count,
    })
  }
}

function isRecord(input: unknown): input is Record<string, unknown> {
  return typeof input === 'object' && input !== null && !Array.isArray(input)
}

function join(before: Refusal | undefined, next: Refusal): Refusal {
  return before ? before.and(next) : next
}

/** A default that can be changed must not be shared between requests. */
function fresh(value: unknown): unknown {
  return typeof value === 'object' ? structuredClone(value) : value
}

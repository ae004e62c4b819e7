import { Refusal, refuse, type Reader } from './refusal.ts'

/** An option of a union. */
export interface UnionOption {
  /** Undefined for texts. */
  readonly required: readonly string[] | undefined
  readonly read: Reader
}

/**
 * Validates a union of objects and of fixed texts: a text is read by the option for texts, an object by the first option whose
 * first required field it has.
 */
export function unionReader(options: readonly UnionOption[]): Reader {
  const texts = options.find(({ required }) => required === undefined)
  const objects = options.filter(({ required }) => required !== undefined)
  return (input) => {
    if (typeof input === 'string' && texts) return readText(input, texts, objects)
    if (typeof input !== 'object' || input === null || Array.isArray(input))
      return refuse('model_attributes_type', input)
    const fitting = objects.find(
      ({ required = [] }) => required[0] !== undefined && Object.hasOwn(input, required[0]),
    )
    return (fitting ?? objects[0])?.read(input)
  }
}

function readText(input: string, texts: UnionOption, objects: readonly UnionOption[]): unknown {
  const read = texts.read(input)
  if (!(read instanceof Refusal)) return read
  const fields = objects.map(({ required = [] }) => required.join(' and ')).join(', or with ')
  return refuse('literal_error', input, {
    expected: `${String(read.items[0]?.ctx?.['expected'])}, or an object with ${fields}`,
  })
}

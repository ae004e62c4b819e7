import { maxErrors } from '../../limits.ts'
import { Refusal, refuse, type Reader } from './refusal.ts'

/** Validates lists, every item with the same reader. */
export function listReader(read: Reader, maxItems = Infinity): Reader {
  return (input) => {
    if (!Array.isArray(input)) return refuse('list_type', input)
    if (input.length > maxItems) {
      return refuse('too_long', input, {
        field_type: 'List',
        max_length: maxItems,
        actual_length: input.length,
      })
    }
    const values: unknown[] = []
    let refusal: Refusal | undefined
    for (const [index, item] of input.entries()) {
      const value = read(item)
      if (!(value instanceof Refusal)) values.push(value)
      else if (refusal) refusal.and(value.under(index))
      else refusal = value.under(index)
      // The 422 would not list the rest anyway.
      if (refusal && refusal.items.length >= maxErrors) break
    }
    return refusal ?? values
  }
}

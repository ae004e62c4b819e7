import { refuse, refuseIllFormed, type Reader } from './refusal.ts'

/** Validates the values of a vocabulary. */
export function literalReader(words: readonly unknown[]): Reader {
  const quoted = words.map((word) => `'${String(word)}'`)
  const last = quoted.pop() ?? ''
  const expected = quoted.length > 0 ? `${quoted.join(', ')} or ${last}` : last
  return (input) => {
    if (words.includes(input)) return input
    if (typeof input === 'string' && !input.isWellFormed()) return refuseIllFormed(input)
    return refuse('literal_error', input, { expected })
  }
}

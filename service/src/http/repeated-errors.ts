/** How long the same error is only counted after it was written. */
const windowMs = 10_000

/** How many different errors are counted at once; others are written each time that one is forgotten. */
const maxCounted = 100

/** Writes the first of equal errors, and counts those that follow within ten seconds. */
export class RepeatedErrors {
  readonly #counts = new Map<string, number>()

  /**
   * Whether this error is to be written; else it is counted. `writeCount` is called at the end of the ten seconds with
   * the number of those that were counted, if there were any.
   */
  isFirst(key: string, writeCount: (count: number) => void): boolean {
    const count = this.#counts.get(key)
    if (count !== undefined) {
      this.#counts.set(key, count + 1)
      return false
    }
    // Past the bound all that is new is counted as one.
    const counted = this.#counts.size < maxCounted ? key : ''
    if (counted === '' && this.#counts.has('')) return this.isFirst('', writeCount)
    this.#counts.set(counted, 0)
    setTimeout(() => {
      const repeats = this.#counts.get(counted) ?? 0
      this.#counts.delete(counted)
      if (repeats > 0) writeCount(repeats)
    }, windowMs).unref()
    return true
  }
}

/** What tells an error from others: its name, and where it was thrown or, if it has no stack, what it says. */
export function keyOfError({ name, message, stack }: Error): string {
  const place = /\n\s+at (.*)/.exec(stack ?? '')?.[1]
  return `${name} ${place ?? ''} ${message.slice(0, 100)}`
}

/** How long an equal error is only counted after it was logged. */
const windowMs = 10_000

/** Max number of different errors counted at once. */
const maxCounted = 100

/** Logs the first of equal errors, and counts repetitions within ten seconds. */
export class RepeatedErrors {
  readonly #counts = new Map<string, number>()

  /**
   * Whether to log this error; otherwise it is counted. After ten seconds, `writeCount` is called with the
   * count, if any.
   */
  isFirst(key: string, writeCount: (count: number) => void): boolean {
    const count = this.#counts.get(key)
    if (count !== undefined) {
      this.#counts.set(key, count + 1)
      return false
    }
    // Above the limit, all new errors are counted as one.
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

/** The identity of an error: its name, and where it was thrown or, without a stack, its message. */
export function keyOfError({ name, message, stack }: Error): string {
  const place = /\n\s+at (.*)/.exec(stack ?? '')?.[1]
  return `${name} ${place ?? ''} ${message.slice(0, 100)}`
}

/** How many of the latest transactions are kept. */
const maxRemembered = 1_024

/** How long the latest transactions took to become durable. */
export class CommitTimes {
  readonly #latestMs: number[] = []
  #count = 0

  /** The total number of transactions. */
  get count(): number {
    return this.#count
  }

  get latestMs(): readonly number[] {
    return this.#latestMs
  }

  add(tookMs: number): void {
    this.#latestMs[this.#count % maxRemembered] = tookMs
    this.#count += 1
  }
}

/** How many of the latest transactions are remembered. */
const mostRemembered = 1_024

/** How long the latest transactions took, until they were durable. */
export class CommitTimes {
  readonly #latestMs: number[] = []
  #count = 0

  /** How many there were in all. */
  get count(): number {
    return this.#count
  }

  get latestMs(): readonly number[] {
    return this.#latestMs
  }

  add(tookMs: number): void {
    this.#latestMs[this.#count % mostRemembered] = tookMs
    this.#count += 1
  }
}

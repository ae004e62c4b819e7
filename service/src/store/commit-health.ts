/**
 * Whether the store can commit. A failed commit makes it unhealthy; only a probe that commits makes it
 * healthy again. Costs nothing while the store is healthy.
 */
export class CommitHealth {
  readonly #probe: () => Promise<unknown>
  #hasFailed = false
  #probing: Promise<void> | undefined

  /** `probe` commits a write that changes nothing, and resolves once it is durable. */
  constructor(probe: () => Promise<unknown>) {
    this.#probe = probe
  }

  failed(): void {
    this.#hasFailed = true
  }

  /** Resolves if commits work, as far as is known; rejects with the probe's error while they fail. */
  async check(): Promise<void> {
    if (this.#hasFailed) await (this.#probing ??= this.#tryAgain())
  }

  async #tryAgain(): Promise<void> {
    try {
      await this.#probe()
      this.#hasFailed = false
    } finally {
      this.#probing = undefined
    }
  }
}

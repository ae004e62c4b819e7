/**
 * Whether the store can commit. A commit that fails makes it unhealthy, and only a probe, which commits something
 * itself, makes it healthy again. While all is well it costs nothing.
 */
export class CommitHealth {
  readonly #probe: () => Promise<unknown>
  #hasFailed = false
  #probing: Promise<void> | undefined

  /** `probe` writes something without a meaning, and resolves when that is committed. */
  constructor(probe: () => Promise<unknown>) {
    this.#probe = probe
  }

  failed(): void {
    this.#hasFailed = true
  }

  /** Resolves when commits work, as far as is known; rejects with the error of a probe while they fail. */
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

/** Two counters that threads share: the commits that have started, and how many of them are durable. */
export class CommitMarks {
  /** For another thread, which creates its own instance from it. */
  readonly shared: SharedArrayBuffer
  readonly #counts: BigInt64Array

  constructor(shared = new SharedArrayBuffer(2 * BigInt64Array.BYTES_PER_ELEMENT)) {
    this.shared = shared
    this.#counts = new BigInt64Array(shared)
  }

  /** From here on, other connections may see what the commit writes. */
  begin(): void {
    Atomics.add(this.#counts, 0, 1n)
  }

  get begun(): bigint {
    return Atomics.load(this.#counts, 0)
  }

  get durable(): bigint {
    return Atomics.load(this.#counts, 1)
  }

  set durable(commit: bigint) {
    Atomics.store(this.#counts, 1, commit)
  }
}

/** Reads that have seen another thread's commits and wait until those are durable. */
export class DurableReads {
  readonly #marks: CommitMarks
  /** Resolves when more may be durable. */
  #next: PromiseWithResolvers<void> | undefined
  #failure: Error | undefined

  constructor(marks: CommitMarks) {
    this.#marks = marks
  }

  /** Resolves once everything is durable that can have been read so far; undefined if it already is. */
  wait(): Promise<void> | undefined {
    const commit = this.#marks.begun
    return this.#marks.durable >= commit ? undefined : this.#until(commit)
  }

  async #until(commit: bigint): Promise<void> {
    while (this.#marks.durable < commit) {
      if (this.#failure) throw this.#failure
      await (this.#next ??= Promise.withResolvers()).promise
    }
  }

  /** Call this when more commits have become durable. */
  letGo(): void {
    this.#next?.resolve()
    this.#next = undefined
  }

  /** Call this if commits that are not durable yet never will be. */
  fail(error: Error): void {
    this.#failure = error
    this.letGo()
  }
}

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

interface Reader {
  readonly commit: bigint
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** Reads that have seen another thread's commits and wait until those are durable. */
export class DurableReads {
  readonly #marks: CommitMarks
  #readers: Reader[] = []
  #failure: Error | undefined

  constructor(marks: CommitMarks) {
    this.#marks = marks
  }

  /** Resolves once everything is durable that can have been read so far; undefined if it already is. */
  wait(): Promise<void> | undefined {
    const commit = this.#marks.begun
    if (this.#marks.durable >= commit) return undefined
    if (this.#failure) return Promise.reject(this.#failure)
    return new Promise((resolve, reject) => this.#readers.push({ commit, resolve, reject }))
  }

  /** Call this when more commits have become durable. */
  letGo(): void {
    if (this.#readers.length === 0) return
    const { durable } = this.#marks
    const readers = this.#readers
    this.#readers = readers.filter(({ commit }) => commit > durable)
    for (const { commit, resolve } of readers) if (commit <= durable) resolve()
  }

  /** Call this if commits that are not durable yet never will be. */
  fail(error: Error): void {
    this.#failure = error
    for (const { reject } of this.#readers.splice(0)) reject(error)
  }
}

/** Two counts that threads share: the commits that have begun, and how many of them are durable. */
export class CommitMarks {
  /** To hand to another thread, which makes its own marks of it. */
  readonly shared: SharedArrayBuffer
  readonly #counts: BigInt64Array

  constructor(shared = new SharedArrayBuffer(2 * BigInt64Array.BYTES_PER_ELEMENT)) {
    this.shared = shared
    this.#counts = new BigInt64Array(shared)
  }

  /** From here on another connection may see what the commit writes. */
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

/** Those who have read what another thread has committed, and wait until it is durable. */
export class DurableReads {
  readonly #marks: CommitMarks
  #readers: Reader[] = []
  #failure: Error | undefined

  constructor(marks: CommitMarks) {
    this.#marks = marks
  }

  /** Resolves when all is durable that can have been read so far; undefined when it is. */
  wait(): Promise<void> | undefined {
    const commit = this.#marks.begun
    if (this.#marks.durable >= commit) return undefined
    if (this.#failure) return Promise.reject(this.#failure)
    return new Promise((resolve, reject) => this.#readers.push({ commit, resolve, reject }))
  }

  /** To be called when more is durable than before. */
  letGo(): void {
    if (this.#readers.length === 0) return
    const { durable } = this.#marks
    const readers = this.#readers
    this.#readers = readers.filter(({ commit }) => commit > durable)
    for (const { commit, resolve } of readers) if (commit <= durable) resolve()
  }

  /** What is not durable now will never be. */
  fail(error: Error): void {
    this.#failure = error
    for (const { reject } of this.#readers.splice(0)) reject(error)
  }
}

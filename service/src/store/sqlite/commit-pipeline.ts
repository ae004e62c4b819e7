import type { Settled } from '../group-commit.ts'
import type { CommitMarks } from './commit-marks.ts'
import type { Call } from './ledger.ts'

export interface CommitPipelineOptions {
  /** Writes the calls as one transaction, which is not durable yet when it returns. */
  readonly write: (calls: readonly Call[]) => Settled<unknown>[]
  /** Makes durable what was written, while this thread waits. */
  readonly syncNow: () => void
  /** Makes durable what was written before, while this thread goes on. */
  readonly sync: (done: (error: Error | null) => void) => void
  /** Is handed what became of calls, in their order, once that is durable. */
  readonly answer: (outcomes: readonly Settled<unknown>[]) => void
  /** Tells the pipeline of what has arrived since it was last asked. */
  readonly takeArrived: () => void
  readonly marks: CommitMarks
  /** Most calls in one transaction; with one, each is synced by itself. */
  readonly maxBatch: number
}

/** Fewer calls than this are not worth a commit of their own when more are on their way. */
const leastTogether = 16

/**
 * Writes calls in batches, and answers for each once the log was synced after it. While the disk is busy
 * with that, the next batch is written, so that neither waits for the other.
 */
export class CommitPipeline {
  readonly #options: CommitPipelineOptions
  readonly #calls: Call[] = []
  /** What is written and not answered for, oldest first. */
  #written: { readonly commit: bigint; readonly outcomes: Settled<unknown>[] }[] = []
  #isSyncing = false
  #isScheduled = false

  constructor(options: CommitPipelineOptions) {
    this.#options = options
  }

  add(call: Call): void {
    this.#calls.push(call)
  }

  /** Whether every call was answered. */
  get isIdle(): boolean {
    return this.#calls.length === 0 && this.#written.length === 0
  }

  /** Writes one batch, and sees to it that there is another turn as long as there is something to do. */
  goOn(): void {
    this.#options.takeArrived()
    if (this.#hasBatch) this.#writeBatch()
    if (!this.#hasBatch || this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.goOn()
    })
  }

  /** While the disk is busy, few calls are left to become more. */
  get #hasBatch(): boolean {
    return this.#calls.length >= (this.#isSyncing ? leastTogether : 1)
  }

  #writeBatch(): void {
    const { write, marks, maxBatch, takeArrived } = this.#options
    const batch = this.#calls.splice(0, batchSize(this.#calls.length, maxBatch))
    const outcomes = write(batch)
    this.#written.push({ commit: marks.begun, outcomes })
    takeArrived()
    if (!this.#isSyncing) this.#makeDurable()
  }

  #makeDurable(): void {
    const { marks, syncNow, sync, maxBatch } = this.#options
    const commit = marks.begun
    if (commit === marks.durable) return this.#answer(commit)
    // With nothing to write meanwhile, it is sooner done here.
    if (this.#calls.length === 0 || maxBatch === 1) {
      syncNow()
      return this.#answer(commit)
    }
    this.#isSyncing = true
    sync((error) => {
      // Whether the disk has it nobody knows, nor would after another try: only a new start can tell.
      if (error) throw error
      this.#isSyncing = false
      this.#answer(commit)
      if (this.#written.length > 0) this.#makeDurable()
      this.goOn()
    })
  }

  #answer(commit: bigint): void {
    this.#options.marks.durable = commit
    const durable = this.#written.filter((batch) => batch.commit <= commit)
    this.#written = this.#written.slice(durable.length)
    this.#options.answer(durable.flatMap(({ outcomes }) => outcomes))
  }
}

/**
 * How many of the calls that wait are written together: half of them, so that callers do not fall into
 * step. If all waited for one commit, the ledger would idle while they are answered and ask again, and the
 * thread of the requests while they are written.
 */
export function batchSize(waiting: number, maxBatch: number): number {
  return Math.min(maxBatch, Math.max(leastTogether, Math.ceil(waiting / 2)))
}

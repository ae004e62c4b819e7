import type { Settled } from '../group-commit.ts'
import type { CommitMarks } from '../ledger/sqlite/commit-marks.ts'
import type { Call } from './ledger.ts'

export interface CommitLoopOptions {
  /** Writes the calls as one transaction, which is not durable yet when it returns. */
  readonly write: (calls: readonly Call[]) => Settled<unknown>[]
  /** Makes durable what was written. */
  readonly sync: () => void
  /** Is handed what became of calls, in their order, once that is durable, and how long that took. */
  readonly answer: (outcomes: readonly Settled<unknown>[], tookMs: number) => void
  /** Tells the loop of what has arrived since it was last asked. */
  readonly takeArrived: () => void
  readonly marks: CommitMarks
  /** Most calls in one transaction. */
  readonly maxBatch: number
}

/** Writes the calls that wait as one batch, syncs the log, answers for them, and does it again while more have come. */
export class CommitLoop {
  readonly #options: CommitLoopOptions
  readonly #calls: Call[] = []
  #isScheduled = false

  constructor(options: CommitLoopOptions) {
    this.#options = options
  }

  add(call: Call): void {
    this.#calls.push(call)
  }

  /** Whether every call was answered. */
  get isIdle(): boolean {
    return this.#calls.length === 0
  }

  /** Writes one batch, and sees to it that there is another turn as long as there is something to do. */
  goOn(): void {
    this.#options.takeArrived()
    if (this.#calls.length > 0) this.#writeBatch()
    if (this.#calls.length === 0 || this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.goOn()
    })
  }

  #writeBatch(): void {
    const { write, sync, answer, takeArrived, marks, maxBatch } = this.#options
    const startedAtMs = performance.now()
    const outcomes = write(this.#calls.splice(0, maxBatch))
    // What only reads has nothing to sync.
    if (marks.durable < marks.begun) {
      // Whether the disk has it when this fails nobody knows, nor would after another try: only a new start can tell.
      sync()
      marks.durable = marks.begun
    }
    answer(outcomes, performance.now() - startedAtMs)
    takeArrived()
  }
}

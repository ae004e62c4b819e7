import type { StoreMetrics, WrittenBatch } from './store-metrics.ts'

/** Max calls that wait for a transaction, and on PostgreSQL max reads that wait for a connection. */
export const maxWaiting = 8_192

/** How many of the latest transactions are kept. */
const maxRemembered = 1_024

/** The transactions of a ledger: how many there were, and how long the latest took to become durable. */
export class CommitTimes {
  readonly #waiting: () => number
  readonly #countBatch: ((batch: WrittenBatch) => void) | undefined
  readonly #latestMs: number[] = []
  #count = 0

  /** Also counts them in the metrics, if there are any. */
  constructor(waiting: () => number, metrics: StoreMetrics | undefined) {
    this.#waiting = waiting
    this.#countBatch = metrics?.addQueue({ name: 'ledger', limit: maxWaiting, waiting })
  }

  add(batch: WrittenBatch): void {
    this.#latestMs[this.#count % maxRemembered] = batch.tookMs
    this.#count += 1
    this.#countBatch?.(batch)
  }

  get figures() {
    return { waiting: this.#waiting(), maxWaiting, commits: this.#count, commitMs: this.#latestMs }
  }
}

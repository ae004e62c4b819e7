import { StoreUnavailableError } from '../../store.ts'
import type { Settle } from '../ledger.ts'

export interface BatchedReadsOptions<Key, Found> {
  /** Reads what belongs to some keys, in the same order. */
  readonly read: (keys: readonly Key[]) => Promise<readonly Found[]>
  /** Max keys in one batch. */
  readonly maxBatch: number
  /** Max waiting keys; more are refused. */
  readonly maxWaiting: number
}

const maxConcurrentBatches = 2

interface Waiting<Key, Found> extends Settle<Found> {
  readonly key: Key
}

/**
 * Reads by key in batches: keys requested while a batch is being read form the next one. There is no timer: a single
 * key waits only until the event loop has delivered what arrived with it.
 */
export class BatchedReads<Key, Found> {
  readonly #options: BatchedReadsOptions<Key, Found>
  #waiting: Waiting<Key, Found>[] = []
  #isScheduled = false
  #batches = 0
  #onIdle: (() => void)[] = []

  constructor(options: BatchedReadsOptions<Key, Found>) {
    this.#options = options
  }

  find(key: Key): Promise<Found> {
    if (this.#waiting.length >= this.#options.maxWaiting) {
      return Promise.reject(
        new StoreUnavailableError('too many reads wait for the store', { retryAfterSeconds: 1 }),
      )
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ key, resolve, reject })
      this.#startBatch()
    })
  }

  /** Resolves once nothing is waiting or being read. */
  async drain(): Promise<void> {
    if (this.#isScheduled || this.#batches > 0)
      await new Promise<void>((resolve) => this.#onIdle.push(resolve))
  }

  #startBatch(): void {
    if (this.#isScheduled || this.#batches >= maxConcurrentBatches) return
    this.#isScheduled = true
    setImmediate(() => void this.#readBatch())
  }

  async #readBatch(): Promise<void> {
    const batch = this.#waiting.splice(0, this.#options.maxBatch)
    this.#isScheduled = false
    this.#batches += 1
    if (this.#waiting.length > 0) this.#startBatch()
    try {
      const found = await this.#options.read(batch.map(({ key }) => key))
      for (const [index, { resolve }] of batch.entries()) resolve(found[index]!)
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
    this.#batches -= 1
    if (this.#waiting.length > 0) return this.#startBatch()
    if (this.#isScheduled || this.#batches > 0) return
    for (const resolve of this.#onIdle.splice(0)) resolve()
  }
}

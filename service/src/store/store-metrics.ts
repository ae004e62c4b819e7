import { batchSizes, Histogram, storeSeconds } from '../metrics/histogram.ts'

/** The operations that wait in one queue. */
export interface QueueMetrics {
  readonly name: string
  readonly batchSizes: Histogram
  /** From the start of a batch until it is durable, in seconds. */
  readonly commits: Histogram
  /** How long the first operation of each batch waited until the batch started, in seconds. */
  readonly waits: Histogram
  readonly waiting: () => number
  readonly limit: number
}

export interface WrittenBatch {
  readonly size: number
  readonly waitedMs: number
  readonly tookMs: number
}

/** The connections to a database. */
export interface PoolMetrics {
  readonly name: string
  /** How long the wait for each took, in seconds. */
  readonly waits: Histogram
  readonly count: () => { readonly total: number; readonly idle: number; readonly waiting: number }
  readonly limit: number
}

/** The metrics of a store. Names are few and fixed: they become labels. */
export class StoreMetrics {
  readonly queues: QueueMetrics[] = []
  readonly pools: PoolMetrics[] = []

  /** Counts each batch of a queue. */
  addQueue(queue: Pick<QueueMetrics, 'name' | 'waiting' | 'limit'>): (batch: WrittenBatch) => void {
    const [commits, waits] = [new Histogram(storeSeconds), new Histogram(storeSeconds)]
    const sizes = new Histogram(batchSizes)
    this.queues.push({ ...queue, batchSizes: sizes, commits, waits })
    return ({ size, waitedMs, tookMs }) => {
      sizes.observe(size)
      waits.observe(waitedMs / 1_000)
      commits.observe(tookMs / 1_000)
    }
  }

  /** The histogram of the waits for a connection of a pool. */
  addPool(pool: Omit<PoolMetrics, 'waits'>): Histogram {
    const waits = new Histogram(storeSeconds)
    this.pools.push({ ...pool, waits })
    return waits
  }
}

import { batchSizes, Histogram, storeSeconds } from '../metrics/histogram.ts'

/** Counts the operations that wait in one queue. */
export class QueueMetrics {
  readonly name: string
  readonly batchSizes = new Histogram(batchSizes)
  /** From the start of a batch until it is durable, in seconds. */
  readonly commits = new Histogram(storeSeconds)
  /** How long the first operation of each batch waited until the batch started, in seconds. */
  readonly waits = new Histogram(storeSeconds)

  constructor(name: string) {
    this.name = name
  }

  /** Counts a batch. */
  add({ size, waitedMs, tookMs }: WrittenBatch): void {
    this.batchSizes.observe(size)
    this.waits.observe(waitedMs / 1_000)
    this.commits.observe(tookMs / 1_000)
  }
}

export interface WrittenBatch {
  readonly size: number
  readonly waitedMs: number
  readonly tookMs: number
}

/** The current state of a queue. */
export interface QueueDepth {
  readonly name: string
  readonly waiting: () => number
  readonly limit: number
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
  readonly depths: QueueDepth[] = []
  readonly pools: PoolMetrics[] = []

  /** The histograms of a queue. */
  addQueue(name: string): QueueMetrics {
    const queue = new QueueMetrics(name)
    this.queues.push(queue)
    return queue
  }

  addDepth(depth: QueueDepth): void {
    this.depths.push(depth)
  }

  /** The histogram of the waits for a connection of a pool. */
  addPool(pool: Omit<PoolMetrics, 'waits'>): Histogram {
    const waits = new Histogram(storeSeconds)
    this.pools.push({ ...pool, waits })
    return waits
  }
}

import type { CommitTimes } from './commit-times.ts'
import type { QueueMetrics, WrittenBatch } from './store-metrics.ts'
import { StoreUnavailableError } from './store.ts'

/** What became of one call of a batch. */
export type Settled<Outcome> = { readonly value: Outcome } | { readonly error: unknown }

export interface GroupCommitOptions<Call, Outcome> {
  /** Writes the calls as one durable transaction, and says what became of each, in their order. */
  readonly writeBatch: (calls: readonly Call[]) => Settled<Outcome>[] | Promise<Settled<Outcome>[]>
  /** Most calls in one transaction, which bounds how long it takes. */
  readonly maxBatch: number
  /** Most calls that wait; one more is turned away before memory grows. */
  readonly maxWaiting: number
  /** How many batches may be written side by side; one when left out. */
  readonly lanes?: number
  /** When one is begun beside another; at once when left out. */
  readonly beside?: BesideOptions
  /** Where the times of the batches are kept, if anywhere. */
  readonly commitTimes?: CommitTimes
  /** Where batches are counted, if anywhere. */
  readonly metrics?: QueueMetrics | undefined
}

/**
 * A small batch costs nearly as much as a large one. So one is begun beside another only when this many calls
 * wait, or as many as are under way where those are fewer; or when they have waited so long, as where the other
 * one hangs.
 */
export interface BesideOptions {
  readonly least: number
  readonly waitMs: number
}

/** Calls that are written in batches, each answered with its own outcome. */
export interface CommitQueue<Call, Outcome> {
  /** The call's own outcome, once its batch is durable. */
  submit(call: Call): Promise<Outcome>
  /** Resolves when nothing waits and nothing is being written. */
  drain(): Promise<void>
  /** How many calls wait for their batch. */
  readonly waiting: number
}

/** A call that waits for its batch. */
export interface Waiting<Call, Outcome> {
  readonly call: Call
  readonly resolve: (outcome: Outcome) => void
  readonly reject: (error: unknown) => void
  /** Since when it waits, on the clock of `performance.now()`; 0 where nobody asks. */
  readonly sinceMs: number
}

/**
 * Collects the calls that arrive while the previous batch is being written, and writes them as one
 * transaction. There is no timer: a lonely call waits only until the event loop has handed over what
 * had already arrived with it, and under load the batches grow by themselves.
 */
export class GroupCommit<Call, Outcome> implements CommitQueue<Call, Outcome> {
  readonly #options: GroupCommitOptions<Call, Outcome>
  #waiting: Waiting<Call, Outcome>[] = []
  #isScheduled = false
  #inFlight = 0
  #callsInFlight = 0
  /** Runs while calls wait for more of them, or for the end of the batch beside which they would be written. */
  #patience: NodeJS.Timeout | undefined
  #idle: (() => void)[] = []

  constructor(options: GroupCommitOptions<Call, Outcome>) {
    this.#options = options
  }

  submit(call: Call): Promise<Outcome> {
    if (this.#waiting.length >= this.#options.maxWaiting) {
      return Promise.reject(tooManyCalls())
    }
    return new Promise((resolve, reject) => {
      const sinceMs = this.#options.metrics ? performance.now() : 0
      this.#waiting.push({ call, resolve, reject, sinceMs })
      this.#scheduleBatch()
    })
  }

  get waiting(): number {
    return this.#waiting.length
  }

  async drain(): Promise<void> {
    if (this.#isScheduled || this.#inFlight > 0)
      await new Promise<void>((resolve) => this.#idle.push(resolve))
  }

  #scheduleBatch(): void {
    const { lanes = 1, beside } = this.#options
    if (this.#isScheduled || this.#inFlight >= lanes) return
    if (beside && this.#waiting.length < Math.min(beside.least, this.#callsInFlight)) {
      this.#patience ??= setTimeout(() => this.#scheduleNow(), beside.waitMs)
      return
    }
    this.#scheduleNow()
  }

  #scheduleNow(): void {
    clearTimeout(this.#patience)
    this.#patience = undefined
    if (this.#isScheduled || this.#waiting.length === 0) return
    this.#isScheduled = true
    setImmediate(() => void this.#writeNextBatch())
  }

  async #writeNextBatch(): Promise<void> {
    const batch = this.#takeBatch()
    this.#isScheduled = false
    this.#inFlight += 1
    this.#callsInFlight += batch.length
    if (this.#waiting.length > 0) this.#scheduleBatch()
    const startedAtMs = performance.now()
    try {
      const written = this.#options.writeBatch(batch.map(({ call }) => call))
      // A store that writes synchronously is answered at once, without a turn of the event loop.
      settle(batch, written instanceof Promise ? await written : written)
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
    this.#options.commitTimes?.add(performance.now() - startedAtMs)
    this.#options.metrics?.add(measure(batch, startedAtMs))
    this.#inFlight -= 1
    this.#callsInFlight -= batch.length
    if (this.#waiting.length > 0) return this.#scheduleBatch()
    if (this.#isScheduled || this.#inFlight > 0) return
    for (const resolve of this.#idle.splice(0)) resolve()
  }

  #takeBatch(): Waiting<Call, Outcome>[] {
    const { maxBatch } = this.#options
    if (this.#waiting.length > maxBatch) return this.#waiting.splice(0, maxBatch)
    const batch = this.#waiting
    this.#waiting = []
    return batch
  }
}

/** What a call hears that finds the queue full. */
function tooManyCalls(): StoreUnavailableError {
  return new StoreUnavailableError('too many calls wait for the store', { retryAfterSeconds: 1 })
}

/** How long a batch that has been written took, and its first call waited. */
function measure(
  batch: readonly Pick<Waiting<unknown, unknown>, 'sinceMs'>[],
  startedAtMs: number,
): WrittenBatch {
  const sinceMs = batch[0]?.sinceMs ?? startedAtMs
  return { size: batch.length, waitedMs: startedAtMs - sinceMs, tookMs: performance.now() - startedAtMs }
}

/** Hands each call of a batch its own outcome. */
function settle<Call, Outcome>(batch: readonly Waiting<Call, Outcome>[], outcomes: Settled<Outcome>[]): void {
  for (const [index, { resolve, reject }] of batch.entries()) {
    const settled = outcomes[index] ?? { error: new Error('the batch has no outcome for this call') }
    if ('error' in settled) reject(settled.error)
    else resolve(settled.value)
  }
}

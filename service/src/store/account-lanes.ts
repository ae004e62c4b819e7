import {
  measure,
  settle,
  tooManyCalls,
  type CommitQueue,
  type GroupCommitOptions,
  type Waiting,
} from './group-commit.ts'

export interface AccountLanesOptions<Call, Outcome> extends GroupCommitOptions<Call, Outcome> {
  /** The account that a call concerns. */
  readonly accountOf: (call: Call) => string
}

/**
 * Group commit for each account: a batch holds calls of one account only, and `lanes` accounts are written
 * side by side, one batch of each. Accounts take turns: one that has more calls than a batch holds goes
 * behind those that wait. There is no timer here either.
 */
export class AccountLanes<Call, Outcome> implements CommitQueue<Call, Outcome> {
  readonly #options: AccountLanesOptions<Call, Outcome>
  /** What waits, by account; the account whose turn is next comes first. */
  readonly #waiting = new Map<string, Waiting<Call, Outcome>[]>()
  readonly #inFlight = new Set<string>()
  #waitingCalls = 0
  #isScheduled = false
  #idle: (() => void)[] = []

  constructor(options: AccountLanesOptions<Call, Outcome>) {
    this.#options = options
  }

  submit(call: Call): Promise<Outcome> {
    if (this.#waitingCalls >= this.#options.maxWaiting) return Promise.reject(tooManyCalls())
    return new Promise((resolve, reject) => {
      const account = this.#options.accountOf(call)
      const ofAccount = this.#waiting.get(account)
      const sinceMs = this.#options.metrics ? performance.now() : 0
      const waiting = { call, resolve, reject, sinceMs }
      if (ofAccount) ofAccount.push(waiting)
      else this.#waiting.set(account, [waiting])
      this.#waitingCalls += 1
      this.#schedule()
    })
  }

  get waiting(): number {
    return this.#waitingCalls
  }

  async drain(): Promise<void> {
    if (this.#waitingCalls > 0 || this.#inFlight.size > 0)
      await new Promise<void>((resolve) => this.#idle.push(resolve))
  }

  #schedule(): void {
    const { lanes = 1 } = this.#options
    if (this.#isScheduled || this.#inFlight.size >= lanes || this.#waitingCalls === 0) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#startBatches(lanes)
    })
  }

  #startBatches(lanes: number): void {
    for (const account of this.#waiting.keys()) {
      if (this.#inFlight.size >= lanes) return
      if (!this.#inFlight.has(account)) void this.#writeBatchOf(account)
    }
  }

  async #writeBatchOf(account: string): Promise<void> {
    const batch = this.#takeBatchOf(account)
    this.#inFlight.add(account)
    const startedAtMs = performance.now()
    try {
      settle(batch, await this.#options.writeBatch(batch.map(({ call }) => call)))
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
    this.#options.commitTimes?.add(performance.now() - startedAtMs)
    this.#options.metrics?.add(measure(batch, startedAtMs))
    this.#inFlight.delete(account)
    this.#schedule()
    if (this.#waitingCalls > 0 || this.#inFlight.size > 0) return
    for (const resolve of this.#idle.splice(0)) resolve()
  }

  #takeBatchOf(account: string): Waiting<Call, Outcome>[] {
    const ofAccount = this.#waiting.get(account) ?? []
    const batch = ofAccount.splice(0, this.#options.maxBatch)
    this.#waiting.delete(account)
    if (ofAccount.length > 0) this.#waiting.set(account, ofAccount)
    this.#waitingCalls -= batch.length
    return batch
  }
}

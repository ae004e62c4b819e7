export interface TurnLimits {
  /** Max running tasks of one account. */
  readonly maxInProgress: number
  /** Max waiting tasks of one account; more are refused. */
  readonly maxWaiting: number
  /** How long the account pauses after a task that succeeded. By default, twice as long as each took, if others wait. */
  readonly pauseMs?: (tookMs: number) => number
}

interface Account {
  inProgress: number
  readonly waiting: (() => void)[]
}

/** Max pause between two tasks of an account, by default. */
const maxPauseMs = 40

/**
 * Bounds the number of running tasks of one account; others wait in order. After each task there is a pause. The default
 * leaves two thirds of the time to other accounts.
 */
export class AccountTurns {
  readonly #limits: TurnLimits
  readonly #accounts = new Map<string, Account>()

  constructor(limits: TurnLimits) {
    this.#limits = limits
  }

  /** Runs the task in turn. Returns undefined without running it if too many of the account are waiting. */
  async run<Result>(accountId: string, task: () => Result | Promise<Result>): Promise<Result | undefined> {
    const isFull = (this.#accounts.get(accountId)?.waiting.length ?? 0) >= this.#limits.maxWaiting
    return isFull && !this.#isFree(accountId) ? undefined : this.runAlways(accountId, task)
  }

  /** Runs the task in turn, however many wait: for open streams, whose number is bounded elsewhere. */
  async runAlways<Result>(accountId: string, task: () => Result | Promise<Result>): Promise<Result> {
    const account = this.#accounts.get(accountId) ?? { inProgress: 0, waiting: [] }
    if (this.#isFree(accountId)) {
      account.inProgress += 1
      this.#accounts.set(accountId, account)
    } else {
      await new Promise<void>((resolve) => account.waiting.push(resolve))
    }
    const startedAtMs = performance.now()
    let hasSucceeded = false
    try {
      const result = await task()
      hasSucceeded = true
      return result
    } finally {
      const end = () => this.#end(accountId, account)
      const pauseMs = this.#pauseMs(performance.now() - startedAtMs, hasSucceeded, account)
      if (pauseMs === 0) setImmediate(end)
      else setTimeout(end, pauseMs).unref()
    }
  }

  #pauseMs(tookMs: number, hasSucceeded: boolean, { waiting }: Account): number {
    const { pauseMs } = this.#limits
    if (pauseMs) return hasSucceeded ? pauseMs(tookMs) : 0
    return waiting.length === 0 ? 0 : Math.min(2 * tookMs, maxPauseMs)
  }

  #isFree(accountId: string): boolean {
    return (this.#accounts.get(accountId)?.inProgress ?? 0) < this.#limits.maxInProgress
  }

  /** Passes the slot to the longest-waiting task. */
  #end(accountId: string, account: Account): void {
    const next = account.waiting.shift()
    if (next) return next()
    account.inProgress -= 1
    if (account.inProgress === 0) this.#accounts.delete(accountId)
  }
}

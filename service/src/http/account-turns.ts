export interface TurnLimits {
  /** Max tasks of one account that are in progress. */
  readonly maxInProgress: number
  /** Max tasks of one account that wait; one more is turned away. */
  readonly maxWaiting: number
}

interface Account {
  inProgress: number
  readonly waiting: (() => void)[]
}

/** Max time between a task and the next one of its account. */
const maxPauseMs = 40

/**
 * Bounds how many tasks of one account are in progress; the others wait for their turn, first come, first served. Between
 * two turns is a pause twice as long as the task took, so that two thirds of the time are left to other accounts.
 */
export class AccountTurns {
  readonly #limits: TurnLimits
  readonly #accounts = new Map<string, Account>()

  constructor(limits: TurnLimits) {
    this.#limits = limits
  }

  /** Runs the task when it is its turn. Undefined, without running it, when too many of the account wait already. */
  async run<Result>(accountId: string, task: () => Result | Promise<Result>): Promise<Result | undefined> {
    const isFull = (this.#accounts.get(accountId)?.waiting.length ?? 0) >= this.#limits.maxWaiting
    return isFull && !this.#isFree(accountId) ? undefined : this.runAlways(accountId, task)
  }

  /** Runs the task when it is its turn, however many wait: for an open stream, whose number is bounded otherwise. */
  async runAlways<Result>(accountId: string, task: () => Result | Promise<Result>): Promise<Result> {
    const account = this.#accounts.get(accountId) ?? { inProgress: 0, waiting: [] }
    if (this.#isFree(accountId)) {
      account.inProgress += 1
      this.#accounts.set(accountId, account)
    } else {
      await new Promise<void>((resolve) => account.waiting.push(resolve))
    }
    const startedAtMs = performance.now()
    try {
      return await task()
    } finally {
      const end = () => this.#end(accountId, account)
      if (account.waiting.length === 0) setImmediate(end)
      else setTimeout(end, Math.min(2 * (performance.now() - startedAtMs), maxPauseMs))
    }
  }

  #isFree(accountId: string): boolean {
    return (this.#accounts.get(accountId)?.inProgress ?? 0) < this.#limits.maxInProgress
  }

  /** Hands the place on to who waits longest. */
  #end(accountId: string, account: Account): void {
    const next = account.waiting.shift()
    if (next) return next()
    account.inProgress -= 1
    if (account.inProgress === 0) this.#accounts.delete(accountId)
  }
}

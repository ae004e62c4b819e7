import type { Pool, PoolClient } from 'pg'

import { codeOf } from '../error-code.ts'
import { breaksConnection } from '../ledger/postgres/retries.ts'
import { roundTrip } from '../ledger/postgres/round-trip.ts'
import { attemptMs, commitIn, guard, type Transaction } from './transaction.ts'

/** How many transactions are on their way over the connection at once. */
export const mostUnderWay = 4
/** How long one may be on its way before others go another way: it waits for a lock, or for the network. */
const stalledMs = 25

/** A connection, and when each transaction that is on its way over it was sent, the oldest first. */
interface Line {
  readonly client: Promise<PoolClient>
  readonly underWay: Set<{ readonly sentAtMs: number }>
  isBroken: boolean
}

/**
 * Transactions of one round trip each, all over one connection of a pool: each is sent without waiting for the answers to
 * those before it, and the server goes from one to the next. One process of the server that has everything at hand takes
 * less time for them than several in turn, and no transaction waits until an answer has been read.
 */
export class Pipeline {
  readonly #pool: Pool
  #line: Line | undefined

  constructor(pool: Pool) {
    this.#pool = pool
  }

  /** Whether one more would be answered soon. */
  get isFree(): boolean {
    const underWay = this.#line?.underWay ?? new Set()
    const [oldest] = underWay
    return (
      oldest === undefined ||
      (underWay.size < mostUnderWay && performance.now() - oldest.sentAtMs < stalledMs)
    )
  }

  /**
   * Runs an act that commits in one round trip, once. When it fails, its commit may have been done, or still be on its way;
   * and when one before it fails, so may this, with nothing done. When its patience ends, so do all that are on their way.
   */
  async run<Result>(
    act: (transaction: Pick<Transaction, 'commit'>) => Promise<Result>,
    patienceMs = attemptMs,
  ): Promise<Result> {
    const line = (this.#line ??= { client: this.#pool.connect(), underWay: new Set(), isBroken: false })
    const own = { sentAtMs: performance.now() }
    line.underWay.add(own)
    try {
      const client = await line.client
      const patience = guard(client, patienceMs)
      try {
        return await act({ commit: (...statements) => commitIn(client, statements, { isAhead: true }) })
      } catch (error) {
        await this.#recover(line, client, error)
        throw error
      } finally {
        clearTimeout(patience)
      }
    } finally {
      line.underWay.delete(own)
      if (line.underWay.size === 0) this.#letGo(line)
    }
  }

  /** After a failure its transaction is still open, and all that follow fail, until it is rolled back. */
  async #recover(line: Line, client: PoolClient, error: unknown): Promise<void> {
    const isBehindAnother = codeOf(error) === '25P02'
    if (isBehindAnother || line.isBroken) return
    const isRolledBack = () =>
      roundTrip(client, [{ text: 'rollback' }], { isAhead: true }).then(
        () => true,
        () => false,
      )
    if (!breaksConnection(error) && (await isRolledBack())) return
    line.isBroken = true
    if (this.#line === line) this.#line = undefined
  }

  #letGo(line: Line): void {
    if (this.#line === line) this.#line = undefined
    void line.client.then(
      (client) => client.release(line.isBroken),
      () => undefined,
    )
  }
}

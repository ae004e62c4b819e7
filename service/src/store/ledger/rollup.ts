import type { Ledger } from './ledger.ts'
import { addUpActivity } from './operations/activity.ts'
import { from, id, rowOf, type RawRow } from './reads/rows.ts'
import { activityParts } from './tables.ts'
import { sql, type Reader } from '../sql.ts'

/** How many batches one step adds up, and their max size, so that no payment waits long for it. */
const maxBatches = 512
const maxLength = 1024 * 1024

interface Waiting {
  readonly accountId: string
  readonly id: string
}

/** The next parts after a given one, by account and id, up to a limit, with the length of each as text. */
export type FindParts = (
  after: Waiting | undefined,
  limit: number,
) => Promise<readonly (Waiting & { readonly length: number })[]>

/** Adds the parts of payment batches to the console's sums, a bounded number at a time. Accounts take turns. */
export class Rollup {
  readonly #ledger: Pick<Ledger, 'run'>
  readonly #findParts: FindParts
  /** The last part that was added up; undefined at the start of a round. */
  #last: Waiting | undefined

  constructor(options: { readonly ledger: Pick<Ledger, 'run'>; readonly findParts: FindParts }) {
    this.#ledger = options.ledger
    this.#findParts = options.findParts
  }

  /** Whether more is left. Does nothing if all waiting parts together are shorter than `leastLength`. */
  async addSome(leastLength: number): Promise<boolean> {
    const waiting = await this.#findSome()
    if (this.#last === undefined && !waiting.isMoreLeft && waiting.length < leastLength) return false
    const isAfterOthers = this.#last !== undefined
    this.#last = waiting.isMoreLeft ? waiting.batches.at(-1) : undefined
    const lastIds = new Map(waiting.batches.map(({ accountId, id }) => [accountId, id]))
    const added = await Promise.all(
      [...lastIds].map(([accountId, upToId]) =>
        this.#ledger.run(addUpActivity, { accountId, upToId, limit: maxBatches }),
      ),
    )
    // Parts that other processes add up in the meantime are left to them.
    return (waiting.isMoreLeft || isAfterOthers) && added.some((batches) => batches > 0)
  }

  async #findSome() {
    const rows = await this.#findParts(this.#last, maxBatches)
    const batches: Waiting[] = []
    let length = 0
    for (const row of rows) {
      batches.push(row)
      length += row.length
      if (length >= maxLength) break
    }
    return { batches, length, isMoreLeft: batches.length < rows.length || rows.length === maxBatches }
  }
}

/** Finds parts in a database. */
export function findPartsIn(db: Reader): FindParts {
  return async (after, limit) => {
    const isAfter = after
      ? sql`where (account_id, id) > (${id('account', after.accountId)}, ${id('transaction', after.id)})`
      : sql``
    const { rows } = await sql<RawRow>`
      select account_id, id, octet_length(parts) as length from ${from(activityParts)} ${isAfter}
      order by account_id, id limit ${sql.lit(limit)}`.execute(db)
    return rows.map((raw) => ({ ...rowOf(activityParts, raw), length: Number(raw['length']) }))
  }
}

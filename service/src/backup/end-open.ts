import { setTimeout as sleep } from 'node:timers/promises'

import type { Driver } from '../store/ledger/driver.ts'
import { Ledger } from '../store/ledger/ledger.ts'
import { endOpenPayments } from '../store/ledger/operations/mandates.ts'
import { from, idFrom } from '../store/ledger/reads/rows.ts'
import { mandates } from '../store/ledger/tables.ts'
import { sql, type Reader } from '../store/sql.ts'

/** How many mandates one step handles. */
const maxMandates = 1_000

/**
 * Ends the open proofs of a restored ledger that no service uses, because they may have been charged after the backup.
 * Returns how many there were.
 */
export async function endOpenProofs(driver: Driver, db: Reader): Promise<number> {
  const ledger = new Ledger({
    driver,
    stopwatch: { nowMs: () => performance.now(), sleep: (ms) => sleep(ms) },
    random: Math.random,
    maxWaiting: maxMandates,
  })
  let ended = 0
  for (;;) {
    const { rows } = await sql<{ account_id: unknown; id: unknown }>`
      select account_id, id from ${from(mandates)} where open_payments > 0 limit ${sql.lit(maxMandates)}`.execute(
      db,
    )
    if (rows.length === 0) return ended
    const keys = rows.map((row) => ({
      accountId: idFrom('account', row.account_id),
      id: idFrom('mandate', row.id),
    }))
    const counts = await Promise.all(keys.map((key) => ledger.run(endOpenPayments, key)))
    ended += counts.reduce((sum, count) => sum + count, 0)
  }
}

import { setTimeout as sleep } from 'node:timers/promises'

import type { Driver } from '../store/ledger/driver.ts'
import { Ledger, type LedgerOptions } from '../store/ledger/ledger.ts'
import { endOpenPayments } from '../store/ledger/operations/mandates.ts'
import { from, id, idFrom } from '../store/ledger/reads/rows.ts'
import { mandates } from '../store/ledger/tables.ts'
import { sql, type Reader, type Sql } from '../store/sql.ts'

/**
 * Lets the approvals of a restored ledger that payments could still use expire: they may have been used or withdrawn after the
 * backup. They count as expired since they were requested, whatever test clock their account has.
 */
export const expireGivenApprovals = `
  update approvals set expires_at_ms = requested_at_ms
    where (account_id, id) in (select account_id, id from open_approvals where status = 'approved');
  delete from open_approvals where status = 'approved'`

/** How many mandates one step handles. */
const maxMandates = 500

/**
 * Ends the open proofs of a restored ledger that no service uses, because they may have been charged after the backup.
 * Returns how many there were.
 */
export async function endOpenProofs(
  driver: Driver,
  db: Reader,
  groupOf?: LedgerOptions['groupOf'],
): Promise<number> {
  const ledger = new Ledger({
    driver,
    stopwatch: { nowMs: () => performance.now(), sleep: (ms) => sleep(ms) },
    random: Math.random,
    maxWaiting: maxMandates,
    groupOf,
  })
  let ended = 0
  let page = await nextOpen(db, sql`true`)
  while (page.length > 0) {
    const counts = await Promise.all(page.map((key) => ledger.run(endOpenPayments, key)))
    ended += counts.reduce((sum, count) => sum + count, 0)
    const last = page.at(-1)!
    page = await nextOpen(
      db,
      sql`(account_id, id) > (${id('account', last.accountId)}, ${id('mandate', last.id)})`,
    )
  }
  return ended
}

/** The next mandates with open payments. */
async function nextOpen(db: Reader, condition: Sql) {
  const { rows } = await sql<{ account_id: unknown; id: unknown }>`
    select account_id, id from ${from(mandates)} where open_payments > 0 and ${condition}
    order by account_id, id limit ${sql.lit(maxMandates)}`.execute(db)
  return rows.map((row) => ({
    accountId: idFrom('account', row.account_id),
    id: idFrom('mandate', row.id),
  }))
}

import { parseDateTime } from '../../../domain/time/date-time.ts'
import type { LedgerFault } from '../../store.ts'
import { mandates } from '../tables.ts'
import { from, idFrom, type Int } from './rows.ts'
import { sql, type Reader } from '../../sql.ts'

/** How many mandates are in memory at once. */
const pageSize = 5_000

/** Every mandate that shows another expiry than it enforces, from a reader of one snapshot. */
export async function findExpiryFaults(db: Reader): Promise<readonly LedgerFault[]> {
  const faults: LedgerFault[] = []
  let after = sql`1 = 1`
  for (;;) {
    const { rows } = await sql<{ account_id: unknown; id: unknown; shown: string; enforced: Int }>`
      select account_id, id, expires_at_text as shown, expires_at_ms as enforced from ${from(mandates)}
      where ${after} order by account_id, id limit ${sql.lit(pageSize)}`.execute(db)
    for (const { account_id, id, shown, enforced } of rows) {
      const reading = parseDateTime(shown)
      if ('epochMs' in reading && reading.epochMs === Number(enforced)) continue
      faults.push({
        accountId: idFrom('account', account_id),
        subjectId: idFrom('mandate', id),
        fault: 'it shows another expiry than it enforces',
      })
    }
    const last = rows.length < pageSize ? undefined : rows.at(-1)
    if (!last) return faults
    after = sql`(account_id, id) > (${last.account_id}, ${last.id})`
  }
}

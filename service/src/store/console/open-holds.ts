import { sql, type Kysely } from 'kysely'

import type { ConsoleDialect } from './source.ts'
import type { ConsoleReads } from './store.ts'
import type { Int, Tables } from '../rows.ts'

/** How many holds are open, for metrics. An index holds nothing but them. */
export function prepareOpenHolds(
  db: Kysely<Tables>,
  { inTime }: Pick<ConsoleDialect, 'inTime'>,
): Pick<ConsoleReads, 'readOpenHolds'> {
  return {
    async readOpenHolds() {
      const { rows } = await sql<{ open: Int; first_expires_at_ms: Int | null }>`
        select count(*) as open, min(expires_at_ms) as first_expires_at_ms
        from holds where status = 'open' ${inTime}`.execute(db)
      const [row] = rows
      const first = row?.first_expires_at_ms ?? null
      return { count: Number(row?.open ?? 0), firstExpiresAtMs: first === null ? null : Number(first) }
    },
  }
}

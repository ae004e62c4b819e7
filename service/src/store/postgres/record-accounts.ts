import type { Pool, QueryConfig } from 'pg'

import { GroupCommit } from '../group-commit.ts'
import { storable } from '../ledger/postgres/connection.ts'
import { query } from './queries.ts'

/** How many accounts of records a process remembers, at a hundred bytes or two each. */
const mostRemembered = 65_536

/** The account of an agent or a mandate, by its id. */
export interface RecordAccounts {
  /** The account that a record belongs to, if there is such a record. It never changes, so it is remembered. */
  readonly find: (id: string) => Promise<string | undefined>
  readonly drain: () => Promise<void>
}

/** The directory of accounts. Those who ask together share one look-up. */
export function prepareRecordAccounts(
  pool: Pool,
  { maxWaiting, retry }: { readonly maxWaiting: number; readonly retry: Retry },
): RecordAccounts {
  const remembered = new Map<string, string>()
  const lookUps = new GroupCommit<string, string | undefined>({
    maxBatch: 256,
    maxWaiting,
    lanes: 2,
    writeBatch: async (ids) => {
      const found = await retry(() => lookUp(pool, [...new Set(ids)]))
      for (const [id, accountId] of found) remember(id, accountId)
      return ids.map((id) => ({ value: found.get(id) }))
    },
  })

  function remember(id: string, accountId: string): void {
    remembered.set(id, accountId)
    if (remembered.size <= mostRemembered) return
    const [oldest] = remembered.keys()
    if (oldest !== undefined) remembered.delete(oldest)
  }

  return {
    find: async (id) => remembered.get(id) ?? lookUps.submit(id),
    drain: () => lookUps.drain(),
  }
}

type Retry = <Result>(work: () => Promise<Result>) => Promise<Result>

async function lookUp(pool: Pool, ids: readonly string[]): Promise<Map<string, string>> {
  const { rows } = await pool.query<{ id: string; account_id: string }>({
    name: 'purser_find_record_accounts',
    text: 'select id, account_id from record_accounts where id = any ($1::text[])',
    values: [ids.map(storable)],
  })
  return new Map(rows.map((row) => [row.id, row.account_id]))
}

/** Enters a record with its account, in the transaction that makes it. */
export function insertAccountOf({
  id,
  accountId,
}: {
  readonly id: string
  readonly accountId: string
}): QueryConfig {
  return query('insert into record_accounts (id, account_id) values ($1, $2)', [id, accountId])
}

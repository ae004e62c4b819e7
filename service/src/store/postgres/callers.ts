import type { Pool } from 'pg'

import type { Caller } from '../../domain/records.ts'
import { GroupCommit } from '../group-commit.ts'
import { toCaller, type ApiKeyRow } from '../rows.ts'

/**
 * The caller of a key, looked up anew for every request: a key that was revoked through any process is
 * refused by all. The requests that arrive together share one look-up.
 */
export function prepareCallers(
  pool: Pool,
  { maxWaiting, retry }: { readonly maxWaiting: number; readonly retry: Retry },
): GroupCommit<Buffer, Caller | undefined> {
  return new GroupCommit<Buffer, Caller | undefined>({
    maxBatch: 256,
    maxWaiting,
    lanes: 2,
    writeBatch: async (hashes) => {
      const names = hashes.map((hash) => hash.toString('hex'))
      const distinct = [...new Set(names)]
      const callers = await retry(() => lookUp(pool, distinct))
      return names.map((name) => ({ value: callers.get(name) }))
    },
  })
}

type Retry = <Result>(work: () => Promise<Result>) => Promise<Result>

async function lookUp(pool: Pool, hashes: readonly string[]): Promise<Map<string, Caller>> {
  const isOne = hashes.length === 1
  const { rows } = await pool.query<ApiKeyRow & { secret_hash: Buffer }>({
    name: isOne ? 'purser_read_caller' : 'purser_read_callers',
    text: `
      select h.secret_hash, k.* from api_key_hashes h
        join api_keys k on k.account_id = h.account_id and k.id = h.key_id
      where h.secret_hash = ${isOne ? '$1' : 'any ($1)'} and k.revoked_at_ms is null`,
    values: [isOne ? `\\x${hashes[0]}` : `{${hashes.map((hash) => `"\\\\x${hash}"`).join(',')}}`],
  })
  return new Map(rows.map((row) => [row.secret_hash.toString('hex'), toCaller(row)]))
}

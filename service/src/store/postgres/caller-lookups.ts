import type { Caller } from '../../domain/records.ts'
import { askOnce } from '../ledger/postgres/ask-once.ts'
import type { LookUpCallers } from '../ledger/postgres/callers.ts'
import { toCaller, type ApiKeyRow } from '../rows.ts'

/** Directory and keys in one statement. */
export const lookUpCallers: LookUpCallers = async (pool, hashes) => {
  const isOne = hashes.length === 1
  const [found] = await askOnce(pool, [
    {
      name: isOne ? 'purser_read_caller' : 'purser_read_callers',
      text: `
        select h.secret_hash, k.* from api_key_hashes h
          join api_keys k on k.account_id = h.account_id and k.id = h.key_id
          join accounts a on a.id = h.account_id and a.disabled_at_ms is null
        where h.secret_hash = ${isOne ? '$1' : 'any ($1)'} and k.revoked_at_ms is null`,
      values: [isOne ? `\\x${hashes[0]}` : byteaArray(hashes)],
    },
  ])
  const rows = (found?.rows ?? []) as (ApiKeyRow & { secret_hash: Buffer })[]
  return new Map(rows.map((row) => [row.secret_hash.toString('hex'), toCaller(row)]))
}

/** The directory first, then the keys of each account for itself, as where accounts are spread over machines. */
export const lookUpCallersByAccount: LookUpCallers = async (pool, hashes) => {
  const { rows: directory } = await pool.query<{ hash: string; account_id: string; key_id: string }>({
    name: 'purser_find_keys',
    text: `
      select encode(h.secret_hash, 'hex') as hash, h.account_id, h.key_id from api_key_hashes h
        join accounts a on a.id = h.account_id and a.disabled_at_ms is null
      where h.secret_hash = any ($1)`,
    values: [byteaArray(hashes)],
  })
  const keysOf = Map.groupBy(directory, ({ account_id: accountId }) => accountId)
  const callers = new Map<string, Caller>()
  await Promise.all(
    [...keysOf].map(async ([accountId, keys]) => {
      const { rows } = await pool.query<ApiKeyRow>({
        name: 'purser_account_read_keys',
        text: `
          select * from api_keys where account_id = $1 and id = any ($2::text[]) and revoked_at_ms is null`,
        values: [accountId, keys.map((key) => key.key_id)],
      })
      for (const { hash, key_id: keyId } of keys) {
        const row = rows.find(({ id }) => id === keyId)
        if (row) callers.set(hash, toCaller(row))
      }
    }),
  )
  return callers
}

function byteaArray(hashes: readonly string[]): string {
  return `{${hashes.map((hash) => `"\\\\x${hash}"`).join(',')}}`
}

import type { Pool } from 'pg'

import type { Caller } from '../../../domain/records.ts'
import { withClock } from '../../../domain/time/test-clock.ts'
import { sql } from '../../sql.ts'
import { findRows } from '../reads/rows.ts'
import { sqlName, type TableRow } from '../table.ts'
import { apiKeys, keyHashes, type ApiKeyRow } from '../tables.ts'
import { readerOn, uuidOf } from './postgres-reader.ts'
import { askOnce } from './round-trip.ts'
import { select } from './statements.ts'
import { BatchedReads, type BatchedReadsOptions } from './batched-reads.ts'
import type { ShardOfAccount } from './distribution.ts'

interface CallerOptions extends Pick<BatchedReadsOptions<Buffer, Caller>, 'maxWaiting'> {
  readonly retry: <Result>(work: () => Promise<Result>) => Promise<Result>
  readonly lookUp: LookUpCallers
}

/**
 * Looks up the caller of a key for every request, so that a key revoked by any process is refused by all.
 * Concurrent requests share one query.
 */
export function prepareCallers(
  pool: Pool,
  { retry, lookUp, ...options }: CallerOptions,
): BatchedReads<Buffer, Caller | undefined> {
  return new BatchedReads<Buffer, Caller | undefined>({
    ...options,
    maxBatch: 256,
    read: async (hashes) => {
      const names = hashes.map((hash) => hash.toString('hex'))
      const distinct = [...new Set(names)]
      const callers = await retry(() => lookUp(pool, distinct))
      return names.map((name) => callers.get(name))
    },
  })
}

/**
 * The callers of keys that are not revoked, and whose accounts are not disabled, by the key's SHA-256 in
 * hexadecimal.
 */
export type LookUpCallers = (pool: Pool, hashes: readonly string[]) => Promise<Map<string, Caller>>

export const lookUpCallers: LookUpCallers = async (pool, hashes) => {
  const [answer] = await askOnce(pool, [
    {
      name: 'purser_callers',
      text: `
        ${selectCallers} from key_hashes h
          join api_keys k on k.account_id = h.account_id and k.id = h.key_id and k.revoked_at_ms is null
          join accounts a on a.id = h.account_id and a.disabled_at_ms is null
        where h.secret_hash = any ($1)`,
      values: [`{${hashes.map((hash) => `"\\\\x${hash}"`).join()}}`],
      decodeRow: decodeCaller,
    },
  ])
  return new Map(answer?.rows as FoundCaller[])
}

/**
 * Like `lookUpCallers`, for accounts that are distributed over machines: every machine has the keys of the hashes, which never
 * change and are cached, and then the keys are looked up shard by shard.
 */
export function lookUpDistributedCallers(shardOf: ShardOfAccount, maxCached = maxCachedKeys): LookUpCallers {
  const keys = new Map<string, TableRow<typeof keyHashes>>()
  return async (pool, hashes) => {
    const unknown = hashes.filter((hash) => !keys.has(hash))
    const found = hashes.flatMap((hash) => keys.get(hash) ?? [])
    if (unknown.length > 0) {
      if (keys.size + unknown.length > maxCached) keys.clear()
      const asked = sql.join(unknown.map((hash) => Buffer.from(hash, 'hex')))
      const rows = await findRows(readerOn(pool), keyHashes, sql`secret_hash in (${asked})`)
      for (const key of rows) keys.set(key.secretHash.toString('hex'), key)
      found.push(...rows)
    }
    if (found.length === 0) return new Map()
    const byShard = Map.groupBy(found, (key) => shardOf(key.accountId))
    const answers = await askOnce(
      pool,
      [...byShard.values()].map((same) => ({
        name: 'purser_callers_distributed',
        text: `
          ${selectCallers} from api_keys k
            join accounts a on a.id = k.account_id and a.disabled_at_ms is null
          where k.account_id = any ($1::uuid[]) and k.id = any ($2::uuid[]) and k.revoked_at_ms is null`,
        values: [
          `{${same.map(({ accountId }) => uuidOf('account', accountId)).join()}}`,
          `{${same.map(({ keyId }) => uuidOf('apiKey', keyId)).join()}}`,
        ],
        decodeRow: decodeCaller,
      })),
    )
    return new Map(answers.flatMap(({ rows }) => rows as FoundCaller[]))
  }
}

/** Max cached keys by their hash. */
const maxCachedKeys = 65_536

/** The hash of a key in hexadecimal, and its caller. */
type FoundCaller = [hash: string, Caller]

const names = ['secretHash', 'accountId', 'environment', 'id', 'role', 'agentId'] as const
const selectCallers = `select ${names.map((name) => `k.${sqlName(name)}`).join(', ')}, a.clock_offset_ms`
const decodeKey = select(apiKeys, names).decode

function decodeCaller(fields: readonly (string | null)[]): FoundCaller {
  const row = decodeKey(fields, 0) as Pick<ApiKeyRow, (typeof names)[number]>
  const { secretHash, id: keyId, ...key } = row
  const offset = fields[names.length] ?? null
  const clockOffsetMs = offset === null ? null : Number(offset)
  return [secretHash.toString('hex'), withClock({ ...key, keyId }, { clockOffsetMs })]
}

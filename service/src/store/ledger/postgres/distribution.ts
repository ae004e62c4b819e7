import type { ClientBase } from 'pg'

import { idBytes } from '../../../domain/type-id.ts'
import { StoreOpenError } from '../../open-error.ts'
import type { Table } from '../table.ts'
import { allTables } from '../tables.ts'

/** The tables whose rows belong to one account: all rows of an account are on one machine. */
export const tenantTables: readonly string[] = allTables.filter(isOfTenants).map(({ name }) => name)

/** The tables that every machine has: they are small, or have only rows that never change. */
export const sharedTables: readonly string[] = [
  ...allTables.filter((table) => !isOfTenants(table)).map(({ name }) => name),
  'service_secrets',
  'purser_schema',
]

/** The tables of the ledger, by whether Citus distributes them over machines. */
export interface Distribution {
  readonly distributed: readonly string[]
  readonly local: readonly string[]
}

function isOfTenants({ key }: Table): boolean {
  return key[0] === 'accountId'
}

/** Undefined if the database has no Citus. */
export async function readDistribution(client: ClientBase): Promise<Distribution | undefined> {
  if (!(await hasCitus(client))) return undefined
  const { rows } = await client.query<{ name: string }>(
    `select name from unnest($1::text[]) as name
     where exists (
       select 1 from pg_dist_partition where logicalrelid = to_regclass(name)
         and partmethod = case when name = any ($2) then 'h' else 'n' end)`,
    [[...tenantTables, ...sharedTables], tenantTables],
  )
  const distributed = rows.map(({ name }) => name)
  return {
    distributed,
    local: [...tenantTables, ...sharedTables].filter((name) => !distributed.includes(name)),
  }
}

/** Throws a `StoreOpenError` on a worker of Citus: only the coordinator changes tables. */
export async function refuseWorker(client: ClientBase, place: string): Promise<void> {
  if (!(await hasCitus(client))) return
  const { rows } = await client.query('select 1 from pg_dist_local_group where groupid <> 0')
  if (rows.length > 0) throw new StoreOpenError('citus_worker', { place })
}

async function hasCitus(client: ClientBase): Promise<boolean> {
  const { rows } = await client.query(`select 1 from pg_extension where extname = 'citus'`)
  return rows.length > 0
}

/**
 * Distributes the tenants' tables over the machines of Citus, by `account_id`, and copies the others to each machine.
 * Resolves to the tables that were not distributed before. Throws a `StoreOpenError` if there is no Citus, or this is one of
 * its workers.
 */
export async function distribute(client: ClientBase, place: string): Promise<readonly string[]> {
  await client.query('begin')
  try {
    // The lock of the migrations: a second process finds everything distributed.
    await client.query('select version from purser_schema for update')
    const distribution = await readDistribution(client)
    if (!distribution) throw await whyNoCitus(client, place)
    await refuseWorker(client, place)
    let together = distribution.distributed.find((table) => tenantTables.includes(table))
    for (const table of distribution.local) {
      if (!tenantTables.includes(table)) {
        await client.query('select create_reference_table($1)', [table])
        continue
      }
      // In a separate group, so that no shard of another program moves with ours.
      await client.query(`select create_distributed_table($1, 'account_id', colocate_with => $2)`, [
        table,
        together ?? 'none',
      ])
      together ??= table
    }
    await client.query('commit')
    return distribution.local
  } catch (error) {
    await client.query('rollback')
    throw error
  }
}

async function whyNoCitus(client: ClientBase, place: string): Promise<StoreOpenError> {
  const { rows } = await client.query(`select 1 from pg_available_extensions where name = 'citus'`)
  return new StoreOpenError(rows.length > 0 ? 'citus_not_created' : 'citus_not_installed', { place })
}

/** The shard of an account. */
export type ShardOfAccount = (accountId: string) => number

/** Undefined if the tables are not distributed. Throws a `StoreOpenError` if only some of them are. */
export async function readShards(client: ClientBase, place: string): Promise<ShardOfAccount | undefined> {
  const distribution = await readDistribution(client)
  if (!distribution || distribution.distributed.length === 0) return undefined
  const [missing] = distribution.local
  if (missing !== undefined) throw new StoreOpenError('table_not_distributed', { place, table: missing })
  const { rows } = await client.query<{ last: number }>(
    `select shardmaxvalue::int as last from pg_dist_shard where logicalrelid = $1::regclass order by 1`,
    [tenantTables[0]],
  )
  return (accountId) => {
    const bytes = idBytes('account', accountId)
    const hash = bytes ? hashUuid(bytes) : 0
    return rows.findIndex(({ last }) => hash <= last)
  }
}

/** PostgreSQL's `uuid_hash`, which determines the shard: `lookup3` by Bob Jenkins. */
export function hashUuid(bytes: Buffer): number {
  const start = 0x9e3779b9 + bytes.length + 3923095
  let [a, b, c] = [0, 4, 8].map((at) => (start + bytes.readInt32LE(at)) | 0) as [number, number, number]
  for (const bits of [4, 6, 8, 16, 19, 4]) {
    const mixed = (a - c) ^ rotate(c, bits)
    ;[a, b, c] = [b, (c + b) | 0, mixed]
  }
  ;[a, b, c] = [b, c, a + bytes.readInt32LE(12)]
  for (const bits of [14, 11, 25, 16, 4, 14, 24]) {
    const mixed = ((b ^ a) - rotate(a, bits)) | 0
    ;[a, b, c] = [mixed, c, a]
  }
  return a
}

function rotate(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits))
}

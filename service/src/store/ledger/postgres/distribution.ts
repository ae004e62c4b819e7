import type { ClientBase } from 'pg'

import { StoreOpenError } from '../../open-error.ts'
import { allTables } from '../tables.ts'

/** The tables whose rows belong to one account each. The others are small, or hold only what never changes. */
export const tenantTables: readonly string[] = allTables
  .filter(({ key }) => key[0] === 'accountId')
  .map(({ name }) => name)

/** The tables of tenants, by whether Citus spreads them over machines. */
export interface Distribution {
  readonly spread: readonly string[]
  readonly unspread: readonly string[]
}

/** What is spread; undefined where the database has no Citus. */
export async function readDistribution(client: ClientBase): Promise<Distribution | undefined> {
  const { rows: extension } = await client.query(`select 1 from pg_extension where extname = 'citus'`)
  if (extension.length === 0) return undefined
  const { rows } = await client.query<{ name: string }>(
    `select name from unnest($1::text[]) as name
     where exists (select 1 from pg_dist_partition where logicalrelid = to_regclass(name) and partmethod = 'h')`,
    [tenantTables],
  )
  const spread = rows.map(({ name }) => name)
  return { spread, unspread: tenantTables.filter((name) => !spread.includes(name)) }
}

/**
 * Spreads the tables of tenants over the machines of Citus, by `account_id`, all rows of an account on one.
 * Tables that are spread already stay as they are. Resolves to those that were not. Throws a
 * `StoreOpenError` where there is no Citus.
 */
export async function distribute(client: ClientBase, place: string): Promise<readonly string[]> {
  await client.query('begin')
  try {
    // The lock of the migrations: whoever comes second finds everything spread.
    await client.query('select version from purser_schema for update')
    const distribution = await readDistribution(client)
    if (!distribution) throw await whyNoCitus(client, place)
    let [together] = distribution.spread
    for (const table of distribution.unspread) {
      // A group of their own: no shard of another program moves with ours.
      await client.query(`select create_distributed_table($1, 'account_id', colocate_with => $2)`, [
        table,
        together ?? 'none',
      ])
      together ??= table
    }
    await client.query('commit')
    return distribution.unspread
  } catch (error) {
    await client.query('rollback')
    throw error
  }
}

async function whyNoCitus(client: ClientBase, place: string): Promise<StoreOpenError> {
  const { rows } = await client.query(`select 1 from pg_available_extensions where name = 'citus'`)
  return new StoreOpenError(rows.length > 0 ? 'citus_not_created' : 'citus_not_installed', { place })
}

/** Throws a `StoreOpenError` when the tables are spread, and the settings do not fit that. */
export async function refuseUnfitDistribution(
  client: ClientBase,
  place: string,
  { accountLanes = false }: { readonly accountLanes?: boolean },
): Promise<void> {
  const distribution = await readDistribution(client)
  if (!distribution || distribution.spread.length === 0) return
  if (!accountLanes) {
    throw new StoreOpenError('lanes_off', { place })
  }
  const [missing] = distribution.unspread
  if (missing === undefined) return
  throw new StoreOpenError('table_not_spread', { place, table: missing })
}

import { isDeepStrictEqual } from 'node:util'

import type { ClientBase } from 'pg'

import { codeOf } from '../error-code.ts'
import { openPool, withClient } from '../ledger/postgres/connection.ts'
import { migrate } from '../ledger/postgres/migrate.ts'
import { postgresDialect, readerOn, uuidOf } from '../ledger/postgres/postgres-reader.ts'
import { writeStatements } from '../ledger/postgres/statements.ts'
import { valueOf } from '../ledger/reads/dialect.ts'
import { findLedgerFaults } from '../ledger/reads/faults.ts'
import { sqlName, type Column, type Table } from '../ledger/table.ts'
import { StoreOpenError } from '../open-error.ts'
import type { LedgerFault } from '../store.ts'
import { copiedTables, type Row, type TableTotals } from './copied-tables.ts'
import { hasUnfinishedCopy } from './unfinished-copy.ts'

/** The database that a ledger is copied to, claimed for this copy alone. */
export interface PostgresTarget {
  /** The database as a person may see it. */
  readonly place: string
  /** Whether an earlier run of the same copy has begun. */
  readonly isContinued: boolean
  readonly rowsOf: (table: Table) => Promise<bigint>
  /** The key of the last row that is there already. */
  readonly lastKey: (table: Table) => Promise<Row | undefined>
  /** Writes rows, all of them or none. */
  readonly insert: (table: Table, rows: readonly Row[]) => Promise<void>
  readonly totals: () => Promise<TableTotals[]>
  readonly findLedgerFaults: () => Promise<LedgerFault[]>
  /** Gives the database free: it is a whole ledger from now on. */
  readonly release: () => Promise<void>
}

/** What a target is asked for, and what tells its source from others. */
interface TargetOptions {
  readonly url: string
  readonly sourcePath: string
  readonly sourceTotals: readonly TableTotals[]
  readonly anyAccountId: string | undefined
}

/**
 * Claims a database as the target of a copy and hands it to `work`: an empty one, or one that holds an
 * unfinished copy of the same source, as its totals say. A table named `purser_copy` stands in it until
 * the copy is whole, and no service starts on it meanwhile. Resolves to undefined, with nothing done, where it
 * holds a finished copy of the source already. Throws a `StoreOpenError` when it cannot be claimed.
 */
export async function withPostgresTarget<Result>(
  options: TargetOptions,
  work: (target: PostgresTarget) => Promise<Result>,
): Promise<Result | undefined> {
  const { url, sourceTotals } = options
  const source = JSON.stringify(sourceTotals, (_, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  )
  return withClient(url, async (writer, place) => {
    await migrate(writer, place)
    const isContinued = await hasUnfinishedCopy(writer)
    if (!isContinued && !(await claimEmpty(writer, source))) {
      await refuseUnlessFinishedCopy(writer, place, options)
      return undefined
    }
    // The claim is held by a transaction that stays open on a connection of its own and ends with it.
    return withClient(url, async (claim) => {
      await lockClaim(claim, place, source)
      return work({ place, isContinued, ...prepareTarget(writer, claim, url) })
    })
  })
}

/** Resolves to false, with nothing claimed, when something is there already. */
async function claimEmpty(client: ClientBase, source: string): Promise<boolean> {
  const tables = [...copiedTables.map(({ name }) => name), 'service_secrets']
  try {
    await client.query('begin')
    await client.query('create table purser_copy (source text not null)')
    await client.query('insert into purser_copy (source) values ($1)', [source])
    const filled = tables.map((table) => `exists (select from ${table})`).join(' or ')
    const { rows } = await client.query<{ is_filled: boolean }>(`select ${filled} as is_filled`)
    const isFilled = rows[0]?.is_filled === true
    await client.query(isFilled ? 'rollback' : 'commit')
    return !isFilled
  } catch (error) {
    await client.query('rollback')
    // Another copy made the claim a moment ago, which is looked at next.
    if (codeOf(error) !== '42P07' && codeOf(error) !== '23505') throw error
    return true
  }
}

/** Throws a `StoreOpenError`, unless a ledger adds up to the same as the source. */
async function refuseUnlessFinishedCopy(
  client: ClientBase,
  place: string,
  { sourcePath, sourceTotals, anyAccountId }: TargetOptions,
): Promise<void> {
  // Accounts are never deleted, so a copy has each one that its source had.
  const { rows } = await client.query('select from accounts where id = $1', [
    anyAccountId === undefined ? null : uuidOf('account', anyAccountId),
  ])
  if (rows.length === 0) {
    throw new StoreOpenError('copy_target_taken', { place })
  }
  if (isDeepStrictEqual(sourceTotals, await totalsOf(client))) return
  throw new StoreOpenError('copy_changed_since', { place, source: sourcePath })
}

async function totalsOf(client: ClientBase): Promise<TableTotals[]> {
  const totals: TableTotals[] = []
  for (const table of copiedTables) totals.push(await addUp(client, table))
  return totals
}

async function lockClaim(client: ClientBase, place: string, source: string): Promise<void> {
  await client.query('begin')
  await client.query('set local idle_in_transaction_session_timeout = 0')
  const { rows } = await client
    .query<{ source: string }>('select source from purser_copy for update nowait')
    .catch((error: unknown) => {
      if (codeOf(error) !== '55P03') throw error
      throw new StoreOpenError('copy_running', { place })
    })
  if (rows[0]?.source !== source) {
    throw new StoreOpenError('copy_of_another', { place })
  }
}

function prepareTarget(writer: ClientBase, claim: ClientBase, url: string) {
  return {
    async rowsOf({ name }: Table): Promise<bigint> {
      const { rows } = await writer.query<{ count: string }>(`select count(*) from ${name}`)
      return BigInt(rows[0]?.count ?? 0)
    },

    async lastKey(table: Table): Promise<Row | undefined> {
      const names = table.key.map(sqlName)
      const { rows } = await writer.query<Row>(
        `select ${names.join(', ')} from ${table.name} order by ${names.map((name) => `${name} desc`).join(', ')} limit 1`,
      )
      const [found] = rows
      if (!found) return undefined
      return Object.fromEntries(
        table.key.map((name) => [name, valueOf(table.columns[name] as Column, found[sqlName(name)])]),
      )
    },

    async insert(table: Table, rows: readonly Row[]): Promise<void> {
      const added = rows.map((now) => ({ table, before: undefined, now }))
      for (const statement of writeStatements(added)) await writer.query(statement)
    },

    totals: () => totalsOf(writer),

    async findLedgerFaults(): Promise<LedgerFault[]> {
      // Tables that were filled a moment ago have no statistics yet, and would be joined in slow ways.
      for (const { name } of copiedTables) await writer.query(`analyze ${name}`)
      const ledger = readerOn(openPool(url, { max: 1 }))
      try {
        return await findLedgerFaults(ledger, postgresDialect)
      } finally {
        await ledger.destroy()
      }
    },

    async release(): Promise<void> {
      await claim.query('drop table purser_copy')
      await claim.query('commit')
    },
  }
}

async function addUp(client: ClientBase, { name: table, columns }: Table): Promise<TableTotals> {
  const sums = Object.entries(columns).map(
    ([column, declared]) =>
      `coalesce(sum(${sizeOf(sqlName(column), declared)}), 0)::text as ${sqlName(column)}`,
  )
  const { rows } = await client.query<Record<string, string>>(
    `select count(*) as row_count, ${sums.join(', ')} from ${table}`,
  )
  const { row_count: rowCount = '0', ...found } = rows[0] ?? {}
  return {
    table,
    rows: BigInt(rowCount),
    columns: Object.fromEntries(Object.entries(found).map(([name, sum]) => [name, BigInt(sum)])),
  }
}

/** A number, or how many bytes the source keeps of it. */
function sizeOf(name: string, { kind }: Column): string {
  switch (kind) {
    case 'integer':
    case 'micro':
      return name
    case 'id':
      return `case when ${name} is null then 0 else 16 end`
    case 'text':
    case 'json':
    case 'bytes':
      return `octet_length(${name})`
    default:
      return kind satisfies never
  }
}

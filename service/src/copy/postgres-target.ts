import { isDeepStrictEqual } from 'node:util'

import type { ClientBase } from 'pg'

import { codeOf } from '../store/error-code.ts'
import { openPool, withClient } from '../store/ledger/postgres/connection.ts'
import { migrate } from '../store/ledger/postgres/migrate.ts'
import { noTimeLimits, readerOn, uuidOf } from '../store/ledger/postgres/postgres-reader.ts'
import { writeStatements } from '../store/ledger/postgres/statements.ts'
import { decoderOf } from '../store/ledger/reads/rows.ts'
import { findLedgerFaults } from '../store/ledger/reads/faults.ts'
import { sqlName, type Column, type Table } from '../store/ledger/table.ts'
import { StoreOpenError } from '../store/open-error.ts'
import type { LedgerFault } from '../store/store.ts'
import { copiedTables, type Row, type TableTotals } from './copied-tables.ts'
import { copyMark, hasUnfinishedCopy, nameBesideLedger } from '../store/ledger/postgres/refused-databases.ts'

/** The database that a ledger is copied to, claimed exclusively. */
export interface PostgresTarget {
  /** The database's address, without the password. */
  readonly place: string
  /** Whether this continues an earlier run. */
  readonly isContinued: boolean
  readonly rowsOf: (table: Table) => Promise<bigint>
  /** The key of the last copied row. */
  readonly lastKey: (table: Table) => Promise<Row | undefined>
  /** Writes all of the rows or none. */
  readonly insert: (table: Table, rows: readonly Row[]) => Promise<void>
  readonly totals: () => Promise<TableTotals[]>
  readonly findLedgerFaults: () => Promise<LedgerFault[]>
  /** Marks the copy as finished, so that services can start on it. */
  readonly release: () => Promise<void>
}

/** The target's address, and what identifies the source. */
interface TargetOptions {
  readonly url: string
  readonly sourcePath: string
  readonly sourceTotals: readonly TableTotals[]
  readonly anyAccountId: string | undefined
}

/**
 * Claims a database as the target of a copy: an empty one, or one with an unfinished copy of the same source, according to its
 * totals. Until the copy is finished, a table named `purser_copy` exists in it, and no service starts on it. Resolves to
 * undefined, and does nothing, if it has a finished copy of the source. Throws a `StoreOpenError` if it cannot be claimed.
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
    // A transaction on a separate connection holds the claim, and ends with the connection.
    return withClient(url, async (claim) => {
      await lockClaim(claim, place, source)
      return work({ place, isContinued, ...prepareTarget(writer, claim, url) })
    })
  })
}

/** Resolves to false, and claims nothing, if the database is not empty. */
async function claimEmpty(client: ClientBase, source: string): Promise<boolean> {
  const tables = [...copiedTables.map(({ name }) => name), 'service_secrets']
  try {
    await client.query('begin')
    const mark = await nameBesideLedger(client, copyMark)
    await client.query(`create table ${mark} (source text not null)`)
    await client.query(`insert into ${mark} (source) values ($1)`, [source])
    const filled = tables.map((table) => `exists (select from ${table})`).join(' or ')
    const { rows } = await client.query<{ is_filled: boolean }>(`select ${filled} as is_filled`)
    const isFilled = rows[0]?.is_filled === true
    await client.query(isFilled ? 'rollback' : 'commit')
    return !isFilled
  } catch (error) {
    await client.query('rollback')
    // Another copy has just claimed it; the caller checks that claim next.
    if (codeOf(error) !== '42P07' && codeOf(error) !== '23505') throw error
    return true
  }
}

/** Throws a `StoreOpenError`, unless the ledger has the same totals as the source. */
async function refuseUnlessFinishedCopy(
  client: ClientBase,
  place: string,
  { sourcePath, sourceTotals, anyAccountId }: TargetOptions,
): Promise<void> {
  // Accounts are never deleted, so a copy has each one that its source had.
  const { rows } = await client.query('select from accounts where id = $1', [
    anyAccountId === undefined ? null : uuidOf('account', anyAccountId),
  ])
  if (rows.length === 0) throw new StoreOpenError('copy_target_taken', { place })
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
  await client.query(noTimeLimits)
  const { rows } = await client
    .query<{ source: string }>(`select source from ${copyMark} for update nowait`)
    .catch((error: unknown) => {
      // It is locked, or another copy has just finished and dropped it.
      if (codeOf(error) !== '55P03' && codeOf(error) !== '42P01') throw error
      throw new StoreOpenError('copy_running', { place })
    })
  if (rows[0]?.source !== source) throw new StoreOpenError('copy_of_another', { place })
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
        table.key.map((name) => [name, decoderOf(table.columns[name] as Column)(found[sqlName(name)])]),
      )
    },

    async insert(table: Table, rows: readonly Row[]): Promise<void> {
      const added = rows.map((now) => ({ table, before: undefined, now }))
      for (const statement of writeStatements(added)) await writer.query(statement)
    },

    totals: () => totalsOf(writer),

    async findLedgerFaults(): Promise<LedgerFault[]> {
      // Tables that were just filled have no statistics yet, and would get slow joins.
      for (const { name } of copiedTables) await writer.query(`analyze ${name}`)
      const pool = openPool(url, { max: 1 })
      try {
        return await findLedgerFaults(readerOn(pool))
      } finally {
        await pool.end()
      }
    },

    async release(): Promise<void> {
      await claim.query(`drop table ${copyMark}`)
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

/** A number, or the bytes of the value in the source. */
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

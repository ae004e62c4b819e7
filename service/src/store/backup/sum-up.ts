import Database from 'better-sqlite3'
import { Kysely, sql, SqliteDialect, type RawBuilder, type Transaction } from 'kysely'

import type { MicroUsdc } from '../../domain/money.ts'
import { hasUnfinishedCopy } from '../copy/unfinished-copy.ts'
import { openPool, withClient } from '../ledger/postgres/connection.ts'
import { neededVersion as neededPostgresVersion, readSchemaVersion } from '../ledger/postgres/migrate.ts'
import { postgresDialect, readerOn } from '../ledger/postgres/postgres-reader.ts'
import { tableOf, type TableDialect, type Reader } from '../ledger/reads/dialect.ts'
import { findLedgerFaults } from '../ledger/reads/faults.ts'
import { sqliteTables } from '../ledger/sqlite/sqlite-reader.ts'
import { mandates, payments } from '../ledger/tables.ts'
import { explainOpenFailure } from '../ledger/sqlite/open.ts'
import { neededVersion as neededSqliteVersion, readSqliteVersion } from '../ledger/sqlite/schema-version.ts'
import { StoreOpenError } from '../open-error.ts'
import type { LedgerFault } from '../store.ts'

/** What a whole ledger adds up to at one moment, and what in it does not. */
export interface LedgerSums {
  readonly mandates: number
  /** Payments that were verified. */
  readonly payments: number
  readonly spentMicro: MicroUsdc
  readonly heldMicro: MicroUsdc
  readonly faults: readonly LedgerFault[]
}

/**
 * Adds a SQLite ledger up anew, over a connection that cannot write: a service may use the file meanwhile,
 * since the whole is read as it was at one moment. Throws a `StoreOpenError` when there is no ledger of
 * this release's schema.
 */
export async function sumUpSqlite(path: string): Promise<LedgerSums> {
  const version = readSqliteVersion(path)
  if (version === undefined) {
    throw new StoreOpenError('no_ledger', { place: path })
  }
  refuseOtherSchema(path, version, neededSqliteVersion)
  try {
    const database = new Database(path, { readonly: true, timeout: 5_000 }).defaultSafeIntegers(true)
    return await sumUp(new Kysely<unknown>({ dialect: new SqliteDialect({ database }) }), sqliteTables)
  } catch (error) {
    throw explainOpenFailure(error, path)
  }
}

/**
 * Adds a PostgreSQL ledger up anew, as it is at one moment. `withSnapshot` may look at that very moment, by the name of
 * its snapshot. Throws a `StoreOpenError` as above.
 */
export async function sumUpPostgres(
  url: string,
  withSnapshot?: (snapshot: string) => Promise<void>,
): Promise<LedgerSums> {
  await withClient(url, async (client, place) => {
    if (await hasUnfinishedCopy(client)) {
      throw new StoreOpenError('copy_unfinished', { place })
    }
    refuseOtherSchema(place, await readSchemaVersion(client), neededPostgresVersion)
  })
  return sumUp(readerOn(openPool(url, { max: 1 })), postgresDialect, async (moment) => {
    if (!withSnapshot) return
    const { rows } = await sql<{ name: string }>`select pg_export_snapshot() as name`.execute(moment)
    await withSnapshot(rows[0]?.name ?? '')
  })
}

function refuseOtherSchema(place: string, found: number, needed: number): void {
  if (found === needed) return
  const code = found > needed ? 'check_needs_newer_release' : 'check_needs_migration'
  throw new StoreOpenError(code, { place, found, needed })
}

async function sumUp(
  db: Reader,
  dialect: TableDialect,
  onMoment: (moment: Transaction<unknown>) => Promise<void> = async () => undefined,
): Promise<LedgerSums> {
  try {
    // SQLite's transactions are of one moment anyway.
    const moments = db.transaction().setIsolationLevel('repeatable read').setAccessMode('read only')
    return await moments.execute(async (moment) => {
      await onMoment(moment)
      return { ...(await readTotals(moment, dialect)), faults: await findLedgerFaults(moment, dialect) }
    })
  } finally {
    await db.destroy()
  }
}

async function readTotals(moment: Reader, dialect: TableDialect): Promise<Omit<LedgerSums, 'faults'>> {
  const { rows } = await sql<Totals>`
    select count(*) as mandates, ${halves('spent_micro')}, ${halves('held_micro')},
      (select count(*) from ${tableOf(dialect, payments)} where status = 'captured') as payments
    from ${tableOf(dialect, mandates)}`.execute(moment)
  const [found] = rows
  if (!found) throw new Error('a ledger has no totals')
  return {
    mandates: Number(found.mandates),
    payments: Number(found.payments),
    spentMicro: wholeOf(found.spent_micro_high, found.spent_micro_low),
    heldMicro: wholeOf(found.held_micro_high, found.held_micro_low),
  }
}

/** The sum of a column, as that of its upper and that of its lower half. */
function halves(column: string): RawBuilder<unknown> {
  const amount = sql.ref(column)
  return sql`sum(${amount} / ${sql.lit(half)}) as ${sql.ref(`${column}_high`)},
    sum(${amount} % ${sql.lit(half)}) as ${sql.ref(`${column}_low`)}`
}

type Count = bigint | string | null

type Totals = Readonly<
  Record<
    'mandates' | 'payments' | 'spent_micro_high' | 'spent_micro_low' | 'held_micro_high' | 'held_micro_low',
    Count
  >
>

/** Ten mandates may have spent more than 63 bits hold, which SQLite refuses to add up: so halves are added. */
const half = 2n ** 32n

function wholeOf(high: Count, low: Count): MicroUsdc {
  return (BigInt(high ?? 0) * half + BigInt(low ?? 0)) as MicroUsdc
}

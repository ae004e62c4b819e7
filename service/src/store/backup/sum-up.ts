import Database from 'better-sqlite3'
import { Kysely, PostgresDialect, sql, SqliteDialect, type Transaction } from 'kysely'

import type { MicroUsdc } from '../../domain/money.ts'
import { hasUnfinishedCopy } from '../copy/unfinished-copy.ts'
import { openPool, withClient } from '../ledger/postgres/connection.ts'
import { neededVersion as neededPostgresVersion, readSchemaVersion } from '../ledger/postgres/migrate.ts'
import { prepareReads } from '../reads.ts'
import type { Tables } from '../rows.ts'
import { explainOpenFailure } from '../ledger/sqlite/open.ts'
import { neededVersion as neededSqliteVersion, readSqliteVersion } from '../ledger/sqlite/schema-version.ts'
import { StoreOpenError, type LedgerFault } from '../store.ts'

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
    throw new StoreOpenError(`There is no ledger at ${path}; name its file with --database sqlite:/path`)
  }
  refuseOtherSchema(path, version, neededSqliteVersion)
  try {
    const database = new Database(path, { readonly: true, timeout: 5_000 }).defaultSafeIntegers(true)
    return await sumUp(new Kysely<Tables>({ dialect: new SqliteDialect({ database }) }))
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
      throw new StoreOpenError(
        `${place} holds a copy that is not finished; run the same purser migrate copy again`,
      )
    }
    refuseOtherSchema(place, await readSchemaVersion(client), neededPostgresVersion)
  })
  const pool = openPool(url, { max: 1 })
  return sumUp(new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) }), async (moment) => {
    if (!withSnapshot) return
    const { rows } = await sql<{ name: string }>`select pg_export_snapshot() as name`.execute(moment)
    await withSnapshot(rows[0]?.name ?? '')
  })
}

function refuseOtherSchema(place: string, found: number, needed: number): void {
  if (found === needed) return
  const remedy =
    found > needed ? 'check it with that release' : 'bring it up to date first, with purser migrate up'
  throw new StoreOpenError(
    `${place} has version ${found} of the schema, and this release checks version ${needed}; ${remedy}`,
  )
}

async function sumUp(
  db: Kysely<Tables>,
  onMoment: (moment: Transaction<Tables>) => Promise<void> = async () => undefined,
): Promise<LedgerSums> {
  try {
    // SQLite's transactions are of one moment anyway.
    const moments = db.transaction().setIsolationLevel('repeatable read').setAccessMode('read only')
    return await moments.execute(async (moment) => {
      await onMoment(moment)
      return { ...(await readTotals(moment)), faults: await prepareReads(moment).findLedgerFaults() }
    })
  } finally {
    await db.destroy()
  }
}

async function readTotals(moment: Transaction<Tables>): Promise<Omit<LedgerSums, 'faults'>> {
  const { count } = moment.fn
  const mandates = await moment
    .selectFrom('mandates')
    .select([
      count<bigint>('id').as('mandates'),
      sumOfHigh('spent_micro').as('spent_high'),
      sumOfLow('spent_micro').as('spent_low'),
      sumOfHigh('held_micro').as('held_high'),
      sumOfLow('held_micro').as('held_low'),
    ])
    .executeTakeFirstOrThrow()
  const { payments } = await moment
    .selectFrom('transactions')
    .select(count<bigint>('id').as('payments'))
    .where('status', '=', 'paid')
    .where('side', '=', 'payer')
    .executeTakeFirstOrThrow()
  return {
    mandates: Number(mandates.mandates),
    payments: Number(payments),
    spentMicro: wholeOf(mandates.spent_high, mandates.spent_low),
    heldMicro: wholeOf(mandates.held_high, mandates.held_low),
  }
}

/** Ten mandates may have spent more than 63 bits hold, which SQLite refuses to add up: so halves are added. */
const half = 2n ** 32n

function sumOfHigh(amount: 'spent_micro' | 'held_micro') {
  return sql<bigint | string | null>`sum(${sql.ref(amount)} / ${sql.lit(half)})`
}

function sumOfLow(amount: 'spent_micro' | 'held_micro') {
  return sql<bigint | string | null>`sum(${sql.ref(amount)} % ${sql.lit(half)})`
}

function wholeOf(high: bigint | string | null, low: bigint | string | null): MicroUsdc {
  return (BigInt(high ?? 0) * half + BigInt(low ?? 0)) as MicroUsdc
}

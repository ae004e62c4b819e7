import type { MicroUsdc } from '../domain/money.ts'
import { hasUnfinishedCopy } from '../store/ledger/postgres/refused-databases.ts'
import { describeUrl } from '../store/ledger/postgres/address.ts'
import { openPool, withClient } from '../store/ledger/postgres/connection.ts'
import {
  neededVersion as neededPostgresVersion,
  readSchemaVersion,
} from '../store/ledger/postgres/migrate.ts'
import { readPostgresSnapshot } from '../store/ledger/postgres/postgres-reader.ts'
import { findLedgerFaults } from '../store/ledger/reads/faults.ts'
import { from, MalformedRowError } from '../store/ledger/reads/rows.ts'
import { amountFrom, countFrom, sumAmount, type Sums } from '../store/ledger/reads/sums.ts'
import { refuseDamage } from '../store/ledger/sqlite/check-file.ts'
import { explainOpenFailure } from '../store/ledger/sqlite/open.ts'
import {
  neededVersion as neededSqliteVersion,
  readSqliteVersion,
} from '../store/ledger/sqlite/schema-version.ts'
import { readSqliteSnapshot } from '../store/ledger/sqlite/sqlite-reader.ts'
import { mandates, payments } from '../store/ledger/tables.ts'
import { StoreOpenError } from '../store/open-error.ts'
import type { LedgerFault } from '../store/store.ts'
import { sql, type Reader } from '../store/sql.ts'

/** The sums of a whole ledger at one moment, and its inconsistencies. */
export interface LedgerSums {
  readonly mandates: number
  /** Verified payments. */
  readonly payments: number
  readonly spentMicro: MicroUsdc
  readonly heldMicro: MicroUsdc
  readonly faults: readonly LedgerFault[]
}

/**
 * Computes the sums of a SQLite ledger from one snapshot, over a read-only connection. A service may use the file then.
 * Throws a `StoreOpenError` if there is no ledger with the schema of this release, or if any page is damaged; that error
 * names the file that it is a copy of.
 */
export async function sumUpSqlite(path: string, copyOf?: string): Promise<LedgerSums> {
  const version = readSqliteVersion(path, { mayBeBackup: true })
  if (version === undefined) throw new StoreOpenError('no_ledger', { place: path })
  refuseOtherSchema(path, version, neededSqliteVersion)
  await refuseDamage(path, copyOf === undefined ? {} : { copyOf })
  try {
    return await readSqliteSnapshot(path, sumUp)
  } catch (error) {
    throw explainOpenFailure(explainMalformed(error, copyOf ?? path), path)
  }
}

/**
 * Computes the sums of a PostgreSQL ledger from one snapshot, whose name it passes to `withSnapshot`. Throws a
 * `StoreOpenError` like `sumUpSqlite`.
 */
export async function sumUpPostgres(
  url: string,
  withSnapshot?: (snapshot: string) => Promise<void>,
): Promise<LedgerSums> {
  await withClient(url, async (client, place) => {
    if (await hasUnfinishedCopy(client)) throw new StoreOpenError('copy_unfinished', { place })
    refuseOtherSchema(place, await readSchemaVersion(client), neededPostgresVersion)
  })
  const pool = openPool(url, { max: 1 })
  try {
    return await readPostgresSnapshot(pool, async (db) => {
      const { rows } = await sql<{ name: string }>`select pg_export_snapshot() as name`.execute(db)
      await withSnapshot?.(rows[0]?.name ?? '')
      return sumUp(db)
    })
  } catch (error) {
    throw explainMalformed(error, describeUrl(url))
  } finally {
    await pool.end()
  }
}

function explainMalformed(error: unknown, place: string): unknown {
  if (!(error instanceof MalformedRowError)) return error
  return new StoreOpenError('row_malformed', { place, table: error.table })
}

function refuseOtherSchema(place: string, found: number, needed: number): void {
  if (found === needed) return
  const code = found > needed ? 'check_needs_newer_release' : 'check_needs_migration'
  throw new StoreOpenError(code, { place, found, needed })
}

async function sumUp(db: Reader): Promise<LedgerSums> {
  const { rows } = await sql<Sums>`
    select * from (
      select count(*) as mandates, ${sumAmount('spent', sql`spent_micro`)}, ${sumAmount('held', sql`held_micro`)}
      from ${from(mandates)}) m
    cross join (
      select count(*) as payments from ${from(payments)} where status = 'captured') p`.execute(db)
  return {
    mandates: countFrom(rows[0], 'mandates'),
    payments: countFrom(rows[0], 'payments'),
    spentMicro: amountFrom(rows[0], 'spent'),
    heldMicro: amountFrom(rows[0], 'held'),
    faults: await findLedgerFaults(db),
  }
}

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { Pool } from 'pg'

import type { Driver } from '../../src/store/ledger/driver.ts'
import { MemoryDatabase } from '../../testing/memory/memory-database.ts'
import { createPostgresDriver } from '../../src/store/ledger/postgres/postgres-driver.ts'
import { readerOn } from '../../src/store/ledger/postgres/postgres-reader.ts'
import { ledgerSteps } from '../../src/store/ledger/postgres/schema.ts'
import { findLedgerFaults } from '../../src/store/ledger/reads/faults.ts'
import { findRows } from '../../src/store/ledger/reads/rows.ts'
import { createSqliteDriver } from '../../src/store/ledger/sqlite/sqlite-driver.ts'
import { readerOf } from '../../src/store/ledger/sqlite/sqlite-reader.ts'
import type { Table } from '../../src/store/ledger/table.ts'
import { sql } from '../../src/store/sql.ts'
import type { LedgerFault } from '../../src/store/store.ts'
import { openPool, withClient } from '../../src/store/ledger/postgres/connection.ts'
import { readShards, type ShardOfAccount } from '../../src/store/ledger/postgres/distribution.ts'
import { openSqliteFile, type SqliteDatabase } from '../../src/store/ledger/sqlite/open.ts'
import { execute, type PostgresDatabase } from '../../testing/postgres-databases.ts'
import { postgresServers, type PostgresServer } from '../../testing/postgres.ts'

type Row = Readonly<Record<string, unknown>>

/** An empty database with its driver. */
export interface DriverBed {
  readonly driver: Driver
  /** All rows of a table, read directly from the database. */
  readonly rowsOf: (table: Table) => Promise<readonly Row[]>
  /** Recounts the ledger with SQL. */
  readonly findFaults?: () => Promise<readonly LedgerFault[]>
  readonly close: () => Promise<void>
}

/** The drivers that must behave identically. */
export const driverBeds: Readonly<Record<string, () => Promise<DriverBed>>> = {
  memory: openMemory,
  sqlite: openSqlite,
  ...Object.fromEntries(
    postgresServers
      .filter(({ missing }) => missing === undefined)
      .map((server) => [server.name, () => openPostgres(server)]),
  ),
}

async function openMemory(): Promise<DriverBed> {
  const database = new MemoryDatabase()
  return {
    driver: database,
    rowsOf: async (table) => database.rowsOf(table),
    close: async () => undefined,
  }
}

export async function openSqlite(): Promise<
  DriverBed & { readonly database: SqliteDatabase; readonly path: string }
> {
  const folder = mkdtempSync(join(tmpdir(), 'purser-ledger-'))
  const { database, close, path } = openSqliteFile(join(folder, 'ledger.db'))
  return {
    database,
    path,
    driver: createSqliteDriver({ database, generationSize: 8 }),
    rowsOf: (table) => findRows(readerOf(database), table, sql`true`),
    findFaults: () => findLedgerFaults(readerOf(database)),
    close: async () => {
      close()
      rmSync(folder, { recursive: true })
    },
  }
}

export async function openPostgres(
  server: PostgresServer,
): Promise<DriverBed & { readonly url: string; readonly pool: Pool }> {
  const { url, drop, shardOfAccount } = await createDatabase(server)
  const pool = openPool(url, { max: 8 })
  return {
    url,
    pool,
    driver: createPostgresDriver(pool, shardOfAccount),
    rowsOf: (table) => findRows(readerOn(pool), table, sql`true`),
    findFaults: () => findLedgerFaults(readerOn(pool)),
    close: async () => {
      if (!pool.ending) await pool.end()
      await drop()
    },
  }
}

async function createDatabase(
  server: PostgresServer,
): Promise<PostgresDatabase & { readonly shardOfAccount?: ShardOfAccount | undefined }> {
  if (server.isDistributed) {
    const database = await server.createDatabase()
    return { ...database, shardOfAccount: await withClient(database.url, readShards) }
  }
  const database = await server.createEmptyDatabase()
  await execute(database.url, ledgerSteps.join('\n'))
  return database
}

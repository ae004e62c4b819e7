import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { Driver } from '../../src/store/ledger/driver.ts'
import { MemoryDatabase } from '../../src/store/ledger/memory/memory-database.ts'
import { createMemoryDriver } from '../../src/store/ledger/memory/memory-driver.ts'
import { ledgerSteps } from '../../src/store/ledger/sqlite/schema.ts'
import { createSqliteDriver } from '../../src/store/ledger/sqlite/sqlite-driver.ts'
import { readAll } from '../../src/store/ledger/sqlite/table-statements.ts'
import type { Table } from '../../src/store/ledger/table.ts'
import { openSqliteFile, type SqliteDatabase } from '../../src/store/sqlite/open.ts'

type Row = Readonly<Record<string, unknown>>

/** An empty database with its driver. */
export interface DriverBed {
  readonly driver: Driver
  /** All rows of a table, read from the database itself. */
  readonly rowsOf: (table: Table) => Promise<readonly Row[]>
  readonly close: () => Promise<void>
}

/** The drivers that must do the same. */
export const driverBeds: Readonly<Record<string, () => Promise<DriverBed>>> = {
  memory: openMemory,
  sqlite: openSqlite,
}

async function openMemory(): Promise<DriverBed> {
  const database = new MemoryDatabase()
  return {
    driver: createMemoryDriver(database),
    rowsOf: async (table) => database.rowsOf(table),
    close: async () => undefined,
  }
}

export async function openSqlite(): Promise<
  DriverBed & { readonly database: SqliteDatabase; readonly path: string }
> {
  const folder = mkdtempSync(join(tmpdir(), 'purser-ledger-'))
  const { database, close, path } = openSqliteFile(join(folder, 'ledger.db'), ledgerSteps)
  return {
    database,
    path,
    driver: createSqliteDriver({ database }),
    rowsOf: async (table) => readAll(database, table),
    close: async () => {
      close()
      rmSync(folder, { recursive: true })
    },
  }
}

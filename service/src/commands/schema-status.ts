import type { Database } from '../settings/config.ts'
import { readUnfinished, type Unfinished } from '../store/ledger/postgres/refused-databases.ts'
import { withClient } from '../store/ledger/postgres/connection.ts'
import { refuseForeignTables } from '../store/ledger/postgres/refused-databases.ts'
import { distribute } from '../store/ledger/postgres/distribution.ts'
import { migrate, neededVersion, readSchemaVersion } from '../store/ledger/postgres/migrate.ts'
import { openSqliteFile } from '../store/ledger/sqlite/open.ts'
import {
  neededVersion as neededSqliteVersion,
  readSqliteVersion,
} from '../store/ledger/sqlite/schema-version.ts'

/** The schema status of a ledger. */
export interface SchemaStatus {
  /** The ledger for display. */
  readonly place: string
  /** Whether the file does not exist. */
  readonly isMissing: boolean
  /** The schema version of the ledger; 0 if there is none yet. */
  readonly found: number
  /** The schema version that this release needs. */
  readonly needed: number
  readonly unfinished: Unfinished
}

/** Reads the status without changes. Throws a `StoreOpenError` if the ledger cannot be read. */
export async function readSchemaStatus(database: Database): Promise<SchemaStatus> {
  if (database.kind === 'sqlite') {
    const found = readSqliteVersion(database.path)
    return {
      place: database.path,
      isMissing: found === undefined,
      found: found ?? 0,
      needed: neededSqliteVersion,
      unfinished: undefined,
    }
  }
  return withClient(database.url, async (client, place) => {
    const found = await readSchemaVersion(client)
    const unfinished = await readUnfinished(client)
    if (found === 0 && !unfinished) await refuseForeignTables(client, place)
    return { place, isMissing: false, found, needed: neededVersion, unfinished }
  })
}

/** The remedy for an incomplete copy or restore. */
export function adviseUnfinished(unfinished: NonNullable<Unfinished>, calledAs: string): string {
  return unfinished === 'copy'
    ? `the ledger is a copy that was interrupted: run the same ${calledAs} migrate copy again`
    : `the ledger is a restore that was interrupted: run the same ${calledAs} restore again, or with --recovered if the database already contains the ledger`
}

/** Runs the missing steps, under the lock of the ledger. Throws a `StoreOpenError` if it cannot. */
export async function runMissingSteps(database: Database): Promise<void> {
  if (database.kind === 'sqlite') openSqliteFile(database.path).close()
  else await withClient(database.url, (client, place) => migrate(client, place))
}

/**
 * Distributes the tables of a ledger with Citus; resolves to those that were not distributed yet. Throws a
 * `StoreOpenError` if it cannot.
 */
export function spreadTables({ url }: Database & { readonly kind: 'postgres' }): Promise<readonly string[]> {
  return withClient(url, (client, place) => distribute(client, place))
}

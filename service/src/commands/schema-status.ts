import type { Database } from '../settings/config.ts'
import { hasUnfinishedCopy } from '../store/copy/unfinished-copy.ts'
import { withClient } from '../store/ledger/postgres/connection.ts'
import { refuseForeignTables } from '../store/ledger/postgres/foreign-tables.ts'
import { distribute } from '../store/ledger/postgres/distribution.ts'
import { migrate, neededVersion, readSchemaVersion } from '../store/ledger/postgres/migrate.ts'
import { openSqliteFile } from '../store/ledger/sqlite/open.ts'
import {
  neededVersion as neededSqliteVersion,
  readSqliteVersion,
} from '../store/ledger/sqlite/schema-version.ts'

/** How far the schema of a ledger is. */
export interface SchemaStatus {
  /** The ledger as a person may see it. */
  readonly place: string
  /** Whether there is not even a file. */
  readonly isMissing: boolean
  /** The steps of the schema that the ledger has seen; 0 when there is none yet. */
  readonly found: number
  /** The steps that this release knows, and needs. */
  readonly needed: number
  readonly hasUnfinishedCopy: boolean
}

/** Looks, and changes nothing. Throws a `StoreOpenError` when the ledger cannot be looked at. */
export async function readSchemaStatus(database: Database): Promise<SchemaStatus> {
  if (database.kind === 'sqlite') {
    const found = readSqliteVersion(database.path)
    return {
      place: database.path,
      isMissing: found === undefined,
      found: found ?? 0,
      needed: neededSqliteVersion,
      hasUnfinishedCopy: false,
    }
  }
  return withClient(database.url, async (client, place) => {
    const found = await readSchemaVersion(client)
    if (found === 0) await refuseForeignTables(client, place)
    const isUnfinished = await hasUnfinishedCopy(client)
    return { place, isMissing: false, found, needed: neededVersion, hasUnfinishedCopy: isUnfinished }
  })
}

/** What is to be done about a ledger that is half a copy. */
export function adviseUnfinishedCopy(calledAs: string): string {
  return `the ledger is a copy that was interrupted: run the same ${calledAs} migrate copy again`
}

/** Runs the steps that are missing, under the lock of the ledger. Throws a `StoreOpenError` when it cannot. */
export async function runMissingSteps(database: Database): Promise<void> {
  if (database.kind === 'sqlite') openSqliteFile(database.path).close()
  else await withClient(database.url, (client, place) => migrate(client, place))
}

/**
 * Spreads the tables of a ledger over the machines of Citus; resolves to those that were not spread yet.
 * Throws a `StoreOpenError` when it cannot.
 */
export function spreadTables({ url }: Database & { readonly kind: 'postgres' }): Promise<readonly string[]> {
  return withClient(url, (client, place) => distribute(client, place))
}

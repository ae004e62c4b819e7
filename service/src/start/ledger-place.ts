import { statSync } from 'node:fs'

import type { Config } from '../settings/config.ts'
import { checkConnections } from '../store/ledger/postgres/connection-checks.ts'
import { checkSqliteFile } from '../store/ledger/sqlite/check-file.ts'
import { readSqliteVersion } from '../store/ledger/sqlite/schema-version.ts'
import { StoreOpenError } from '../store/open-error.ts'

/** How long a SQLite file is looked through for damage: a start is in a hurry, `purser doctor` is not. */
const fileCheckMs = { start: 2_000, doctor: 30_000 }

/**
 * Looks at what holds the ledger, before it is opened: whether a SQLite file is damaged, whether PostgreSQL gives enough
 * connections, and whether a pool in front of it keeps prepared statements. Resolves to warnings, a sentence each.
 * Throws a `StoreOpenError` when the ledger cannot be used.
 */
export async function checkLedgerPlace(
  { database, workers, accountLanes }: Pick<Config, 'database' | 'workers' | 'accountLanes'>,
  caller: keyof typeof fileCheckMs,
): Promise<string[]> {
  if (database.kind === 'postgres') {
    return checkConnections(database.url, { processes: workers, accountLanes })
  }
  const { path } = database
  if (!isLedger(path)) return []
  // Looking makes files beside the database; of another user, they would keep the service out.
  if (statSync(path).uid !== process.getuid?.()) return []
  const outcome = await checkSqliteFile(path, fileCheckMs[caller])
  if (outcome === 'sound') return []
  if (outcome === 'unfinished') {
    const seconds = fileCheckMs.doctor / 1_000
    // A large file would be warned of at every start.
    if (caller === 'start') return []
    return [
      `${path} could not be looked through within ${seconds} s, so damage is not ruled out; a purser backup reads all of it, and says so if it is damaged`,
    ]
  }
  throw new StoreOpenError('file_damaged', { place: path, cause: outcome.damage })
}

/** Whether there is a ledger of ours. Of any other file the store says more. */
function isLedger(path: string): boolean {
  try {
    return (readSqliteVersion(path) ?? 0) > 0
  } catch (error) {
    if (error instanceof StoreOpenError) return false
    throw error
  }
}

import { statSync } from 'node:fs'

import type { Config } from '../settings/config.ts'
import { checkSqliteFile } from '../store/ledger/sqlite/check-file.ts'
import { readSqliteVersion } from '../store/ledger/sqlite/schema-version.ts'
import { StoreOpenError } from '../store/open-error.ts'

/** Time limit for the damage check of a SQLite file; `purser ledger check` has none. */
const fileCheckMs = { start: 2_000, doctor: 30_000 }

/**
 * Checks the ledger's database before it is opened: damage of a SQLite file, enough PostgreSQL rights and
 * connections, and whether a pooler supports prepared statements. Resolves to warnings, a sentence each. Throws a `StoreOpenError` if
 * the ledger cannot be used.
 */
export async function checkLedgerPlace(
  { database, workers }: Pick<Config, 'database' | 'workers'>,
  caller: keyof typeof fileCheckMs,
): Promise<string[]> {
  if (database.kind === 'postgres') {
    const { checkConnections } = await import('./postgres-connections.ts')
    return checkConnections(database.url, { processes: workers })
  }
  const { path } = database
  if (!isLedger(path)) return []
  // Reading creates files next to the database; as another user's, they would lock the service out.
  if (statSync(path).uid !== process.getuid?.()) return []
  const outcome = await checkSqliteFile(path, { timeoutMs: fileCheckMs[caller] })
  if (outcome === 'sound') return []
  if (outcome === 'unfinished') {
    const seconds = fileCheckMs.doctor / 1_000
    // Every start with a large file would warn.
    if (caller === 'start') return []
    return [
      `${path} could not be checked completely within ${seconds} s, so damage is not ruled out; purser ledger check reads the whole file, without a time limit`,
    ]
  }
  throw new StoreOpenError('file_damaged', { place: path, cause: outcome.damage })
}

/** Whether the file is a Purser ledger. For others, the store has a better message. */
function isLedger(path: string): boolean {
  try {
    return (readSqliteVersion(path) ?? 0) > 0
  } catch (error) {
    if (error instanceof StoreOpenError) return false
    throw error
  }
}

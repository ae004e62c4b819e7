import { existsSync, statSync } from 'node:fs'

import type { Config } from '../settings/config.ts'
import { proofSecretPath } from './proof-secret.ts'
import { checkSqliteFile } from '../store/ledger/sqlite/check-file.ts'
import { checkSqliteTables, hasPayments, readSqliteVersion } from '../store/ledger/sqlite/schema-version.ts'
import { StoreOpenError } from '../store/open-error.ts'

/** Time limit for the damage check of a SQLite file; `purser ledger check` has none. */
const fileCheckMs = { start: 2_000, doctor: 30_000 }

/**
 * Checks the ledger's database before it is opened: damage of a SQLite file, its proof secret, enough PostgreSQL rights
 * and connections, and whether a pooler supports prepared statements. Resolves to warnings, a sentence each. Throws a `StoreOpenError` if
 * the ledger cannot be used.
 */
export async function checkLedgerPlace(
  { database, proofSecrets, workers }: Pick<Config, 'database' | 'proofSecrets' | 'workers'>,
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
  if (typeof outcome === 'object') {
    throw new StoreOpenError('file_damaged', { place: path, cause: outcome.damage })
  }
  const warnings = proofSecrets.length === 0 ? warnOfLostSecret(path) : []
  // A start compares the tables when it opens the file, and would warn each time about a large one.
  if (caller === 'start') return warnings
  checkSqliteTables(path)
  if (outcome === 'sound') return warnings
  const seconds = fileCheckMs.doctor / 1_000
  return [
    ...warnings,
    `${path} could not be checked completely within ${seconds} s, so damage is not ruled out; purser ledger check reads the whole file, without a time limit`,
  ]
}

/** A ledger that has issued proofs without the secret that signed them: it was lost, or is no longer configured. */
function warnOfLostSecret(databasePath: string): string[] {
  const path = proofSecretPath(databasePath)
  if (existsSync(path) || !hasPayments(databasePath)) return []
  return [
    `${path} is missing and PURSER_PROOF_SECRET is not set, so a start generates a new secret, and proofs issued before it are refused (invalid_signature): put the original file back, or set PURSER_PROOF_SECRET to the secret used before`,
  ]
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

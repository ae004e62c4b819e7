import Database from 'better-sqlite3'

import { openSqliteFile } from '../store/ledger/sqlite/open.ts'
import { createSqliteDriver } from '../store/ledger/sqlite/sqlite-driver.ts'
import { readerOf } from '../store/ledger/sqlite/sqlite-reader.ts'
import { endOpenProofs, expireGivenApprovals } from './end-open.ts'

/**
 * Upgrades a restored SQLite ledger to the schema of this release, ends its open proofs, because they may have been charged
 * after the backup, lets its given approvals expire, and signs everybody out of the console. Returns the number of ended proofs.
 */
export async function forgetOpen(path: string): Promise<number> {
  const { database, close } = openSqliteFile(path)
  try {
    database.exec(`${expireGivenApprovals}; delete from sessions`)
    return await endOpenProofs(createSqliteDriver({ database }), readerOf(database))
  } finally {
    close()
  }
}

/** Copies the write-ahead log of an unused ledger into its file, so that the file is the whole ledger. */
export function absorbLog(path: string): void {
  const database = new Database(path, { timeout: 0 })
  try {
    database.pragma('wal_checkpoint(truncate)')
    database.pragma('journal_mode = delete')
  } finally {
    database.close()
  }
}

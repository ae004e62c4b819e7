import Database from 'better-sqlite3'

import { openSqliteFile } from '../store/ledger/sqlite/open.ts'
import { partsOf } from '../store/ledger/sqlite/schema.ts'
import { mandates } from '../store/ledger/tables.ts'
import { countOpen, endOpen } from './end-open.ts'

/** The table with the sums of the mandates. */
const sums = partsOf(mandates).at(-1)?.name ?? mandates.name

/**
 * Upgrades a restored SQLite ledger to the schema of this release, ends its open proofs, because they may have been charged
 * after the backup, and signs everybody out of the console. Returns the number of ended proofs.
 */
export function forgetOpen(path: string): number {
  const { database, close } = openSqliteFile(path)
  try {
    return database.transaction(() => {
      const ended = database.prepare<[], bigint>(countOpen(sums)).pluck().get()
      database.exec(`${endOpen(sums)}; delete from sessions`)
      return Number(ended)
    })()
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

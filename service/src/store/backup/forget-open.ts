import Database from 'better-sqlite3'

import { openSqliteFile } from '../ledger/sqlite/open.ts'

/**
 * Brings the file of a restored ledger up to this release, ends its open proofs, since they may have been charged
 * after the backup, and signs everybody out of the console. Resolves to the number of proofs that it ended.
 */
export function forgetOpen(path: string): number {
  const { database, close } = openSqliteFile(path)
  try {
    return database.transaction(() => {
      const { changes } = database.prepare(`update holds set status = 'expired' where status = 'open'`).run()
      database.exec('update mandate_sums set held_micro = 0 where held_micro <> 0; delete from sessions')
      return changes
    })()
  } finally {
    close()
  }
}

/** Copies the log of a ledger that nobody uses into its file, so that the file is the whole ledger. */
export function absorbLog(path: string): void {
  const database = new Database(path, { timeout: 0 })
  try {
    database.pragma('wal_checkpoint(truncate)')
    database.pragma('journal_mode = delete')
  } finally {
    database.close()
  }
}

import { closeSync, existsSync, fstatSync, openSync } from 'node:fs'

import Database from 'better-sqlite3'

import { explainUnreachable, findFile } from './find-file.ts'
import { applicationIds, isBackup, readHeader, type Header } from './file-header.ts'
import { explainOpenFailure, refuseForeign } from './open.ts'
import { refuseOtherTables } from './other-tables.ts'
import { ledgerSteps } from './schema.ts'
import { StoreOpenError } from '../../open-error.ts'

/** The schema version of this release, which is its number of steps. */
export const neededVersion = ledgerSteps.length

/**
 * How many schema steps a ledger has, or also a backup of one, 0 if the file is empty; undefined if there is no file. Only
 * reads, so that not even SQLite's companion files are created. Throws a `StoreOpenError` if the file is damaged, belongs to
 * another program, or is a backup where that is no use.
 */
export function readSqliteVersion(path: string, { mayBeBackup = false } = {}): number | undefined {
  if (!findFile(path)) return undefined
  try {
    const hasLog = existsSync(`${path}-wal`)
    if (hasLog && isBackup(path)) {
      throw new StoreOpenError(mayBeBackup ? 'backup_beside_log' : 'is_backup', { place: path })
    }
    // A log next to the file may have a newer first page, which only SQLite can read.
    const found = hasLog ? readThroughSqlite(path) : readThroughFile(path)
    if (!found) return 0
    if (found.applicationId === applicationIds.backup) {
      if (!mayBeBackup) throw new StoreOpenError('is_backup', { place: path })
    } else if (found.applicationId !== applicationIds.ledger) refuseForeign(path)
    return found.version
  } catch (error) {
    throw explainOpenFailure(explainUnreachable(error, path), path)
  }
}

/** Throws a `StoreOpenError` if a ledger lacks a table of its schema, or has a different one. Only reads. */
export function checkSqliteTables(path: string): void {
  readLedger(path, (database) => {
    const version = Number(database.pragma('user_version', { simple: true }))
    refuseOtherTables(database, path, ledgerSteps.slice(0, version))
  })
}

/** Whether a ledger has ever issued a proof. Only reads. */
export function hasPayments(path: string): boolean {
  return readLedger(path, (database) => {
    const hasTable = database.prepare("select 1 from sqlite_schema where name = 'payments'").get()
    return hasTable !== undefined && database.prepare('select 1 from payments limit 1').get() !== undefined
  })
}

function readLedger<Result>(path: string, read: (database: Database.Database) => Result): Result {
  // A read-only connection would leave behind the files that SQLite creates next to an unopened database.
  const database = new Database(path, { readonly: existsSync(`${path}-wal`), timeout: 5_000 })
  try {
    database.pragma('query_only = on')
    return read(database)
  } catch (error) {
    throw explainOpenFailure(error, path)
  } finally {
    database.close()
  }
}

function readThroughSqlite(path: string): Header {
  const reader = new Database(path, { readonly: true, timeout: 5_000 })
  try {
    const [applicationId, version] = ['application_id', 'user_version'].map((name) =>
      Number(reader.pragma(name, { simple: true })),
    )
    return { applicationId: applicationId ?? 0, version: version ?? 0 }
  } finally {
    reader.close()
  }
}

function readThroughFile(path: string): Header | undefined {
  const file = openSync(path, 'r')
  try {
    if (fstatSync(file).size === 0) return undefined
    return readHeader(file) ?? refuseForeign(path)
  } finally {
    closeSync(file)
  }
}

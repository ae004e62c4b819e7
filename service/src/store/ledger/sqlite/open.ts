import {
  chmodSync,
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  lstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  realpathSync,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'

import Database from 'better-sqlite3'

import { codeOf } from '../../error-code.ts'
import { explainFailedStep, StoreOpenError } from '../../open-error.ts'
import { applicationIds, isBackup } from './file-header.ts'
import { findFile } from './find-file.ts'
import { namesOfKilledRestores, undoKilledRestores } from './kept-ledger.ts'
import { isMountedFile } from './mounted-file.ts'
import { refuseOtherTables } from './other-tables.ts'
import { ledgerSteps } from './schema.ts'

export type SqliteDatabase = Database.Database

export interface OpenedFile {
  readonly database: SqliteDatabase
  /** Where the file is, whichever link leads to it: its lock and its log are next to it. */
  readonly path: string
  /** Closes the file and releases the lock against other processes. */
  readonly close: () => void
  /** Releases only the lock: closing would write the log into whatever the file is now. */
  readonly abandon: () => void
}

/**
 * The database of a file, locked for this process, checked to be Purser's, and migrated. Throws a
 * `StoreOpenError` if the folder cannot be written, another process has the file open, or the file is
 * damaged, foreign, or from a newer release.
 */
export function openSqliteFile(path: string): OpenedFile {
  // better-sqlite3 opens the trimmed path, which would have another lock.
  if (path !== path.trim()) throw new StoreOpenError('path_with_spaces', { place: JSON.stringify(path) })
  createFolder(dirname(path))
  const place = placeOf(path)
  const lock = lockFile(place, path)
  try {
    undoKilledRestores(place)
    const database = openDatabase(path)
    return {
      database,
      path: place,
      close: () => {
        database.close()
        lock.close()
      },
      abandon: () => lock.close(),
    }
  } catch (error) {
    lock.close()
    throw error
  }
}

/**
 * Where the file is, or will be. A file's lock and log are next to its name, so it may have only one name and not be
 * mounted apart from its folder, a link must lead to a file, and a log must have a ledger. Throws a `StoreOpenError` otherwise.
 */
export function placeOf(path: string): string {
  const file = findFile(path)
  if (file?.isDirectory()) throw new StoreOpenError('file_is_folder', { place: path })
  if (!file?.size) refuseLogAlone(file ? realpathSync(path) : path)
  if (file?.isFile() && file.nlink > 1 + namesOfKilledRestores(realpathSync(path)).length) {
    throw new StoreOpenError('hard_links', { place: path, names: file.nlink })
  }
  if (file) {
    const place = realpathSync(path)
    if (isMountedFile(place)) throw new StoreOpenError('mounted_file', { place: path })
    return place
  }
  refuseDanglingLink(path)
  return path
}

/**
 * Throws a `StoreOpenError` if a missing file, or a missing folder above it, is a dangling link: the file would be created
 * beside the link, and a folder not at all.
 */
export function refuseDanglingLink(path: string): void {
  if (existsSync(path)) return
  if (!lstatSync(path, { throwIfNoEntry: false })) return refuseDanglingLink(dirname(path))
  throw new StoreOpenError('dangling_link', { place: path, target: readlinkSync(path) })
}

/** SQLite would delete the log of a ledger that was moved away, with the payments that only the log has. */
function refuseLogAlone(place: string): void {
  if (!findFile(`${place}-wal`)?.size) return
  throw new StoreOpenError('log_alone', { place })
}

export function createFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  } catch (error) {
    const cause = codeOf(error)
    if (cause === 'ENOENT') refuseDanglingLink(folder)
    throw new StoreOpenError('folder_not_made', { place: folder, cause })
  }
}

/**
 * The lock is a transaction that stays open on a small database next to the file: the operating system ends
 * it with the process, however that dies, so there is never a stale lock.
 */
export function lockFile(place: string, path: string): SqliteDatabase {
  const lockPath = `${place}.lock`
  let lock: SqliteDatabase | undefined
  try {
    keepForThisUser(lockPath)
    lock = new Database(lockPath, { timeout: 0 })
    lock.pragma('journal_mode = delete')
    lock.exec('begin exclusive')
    return lock
  } catch (error) {
    lock?.close()
    if (codeOf(error).startsWith('SQLITE_BUSY')) {
      throw new StoreOpenError('file_in_use', { place: path })
    }
    const cause = codeOf(error)
    throw new StoreOpenError(isFull(cause) ? 'no_room' : 'lock_not_writable', { place: lockPath, cause })
  }
}

/** Any other user who could lock the file could keep the service from starting. */
function keepForThisUser(lockPath: string): void {
  const found = statSync(lockPath, { throwIfNoEntry: false })
  // An existing file is not opened: closing it would release this process's locks on it.
  if (!found) closeSync(openSync(lockPath, 'a', 0o600))
  else if ((found.mode & 0o077) !== 0 && found.uid === process.getuid?.()) chmodSync(lockPath, 0o600)
}

function openDatabase(path: string): SqliteDatabase {
  let database: SqliteDatabase | undefined
  try {
    // A new file is readable only by this user; SQLite gives its companion files the same permissions.
    closeSync(openSync(path, 'a', 0o600))
    checkOwnershipOfLog(path)
    database = new Database(path, { timeout: 5_000 })
    checkOwnership(database, path)
    configure(database)
    migrate(database, path)
    return database
  } catch (error) {
    database?.close()
    throw explainOpenFailure(error, path)
  }
}

/** The length at which the write-ahead log is copied into the database and restarts: 16 MB. */
export const logPages = 4_096
const pageBytes = 4_096

/**
 * Preallocates the write-ahead log. A commit that only overwrites the log is durable in half the time of one
 * that extends it, because the file system has no metadata to record. Nothing else may be writing the log.
 * SQLite reads a log up to the first invalid page. If the disk has no room for the full length, the log grows
 * as it is written, as far as possible.
 */
export function extendLog(path: string): void {
  const log = openSync(`${path}-wal`, 'r+')
  const { size } = fstatSync(log)
  try {
    const zeros = Buffer.alloc(64 * pageBytes)
    for (let length = size; length < logPages * pageBytes; length += zeros.length) {
      writeSync(log, zeros, 0, zeros.length, length)
    }
    fsyncSync(log)
  } catch (error) {
    if (!noRoom.includes(codeOf(error))) throw error
    ftruncateSync(log, size)
  } finally {
    closeSync(log)
  }
}

const noRoom = ['ENOSPC', 'EDQUOT', 'EFBIG']

/**
 * Another connection to a file that this process has opened. A commit is only in the log when it returns; it is durable after
 * the caller syncs the log.
 */
export function connect(path: string): SqliteDatabase {
  const database = configure(new Database(path, { timeout: 5_000 }))
  database.pragma('synchronous = normal')
  // A page that is written before its commit, to a full disk, would count as a write of another connection.
  database.pragma('cache_spill = off')
  return database
}

/**
 * A connection caches 2 MB of the file, SQLite's default: after a commit that split a page, SQLite checks
 * every cached page, and the operating system caches the rest.
 */
function configure(database: SqliteDatabase): SqliteDatabase {
  database.pragma('journal_mode = wal')
  database.pragma('synchronous = full')
  database.pragma(`wal_autocheckpoint = ${logPages}`)
  database.pragma('temp_store = memory')
  return database.defaultSafeIntegers(true)
}

/**
 * A writable connection would write another program's log back when it closes, so a read-only one checks
 * first.
 */
function checkOwnershipOfLog(path: string): void {
  if (!existsSync(`${realpathSync(path)}-wal`)) return
  if (isBackup(path)) throw new StoreOpenError('is_backup', { place: path })
  const reader = new Database(path, { readonly: true, timeout: 5_000 })
  try {
    checkOwnership(reader, path)
  } finally {
    reader.close()
  }
}

function checkOwnership(database: SqliteDatabase, path: string): void {
  const found = Number(database.pragma('application_id', { simple: true }))
  if (found === applicationIds.ledger) return
  if (found === applicationIds.backup) throw new StoreOpenError('is_backup', { place: path })
  const tables = database.prepare('select count(*) from sqlite_schema').pluck().get()
  if (found !== 0 || Number(tables) > 0) refuseForeign(path)
}

export function refuseForeign(path: string): never {
  throw new StoreOpenError('foreign_file', { place: path })
}

function migrate(database: SqliteDatabase, path: string): void {
  const version = Number(database.pragma('user_version', { simple: true }))
  if (version > ledgerSteps.length) {
    throw new StoreOpenError('newer_schema', { place: path, found: version, needed: ledgerSteps.length })
  }
  if (version > 0) refuseOtherTables(database, path, ledgerSteps.slice(0, version))
  database
    .transaction(() => {
      for (const [index, step] of ledgerSteps.slice(version).entries()) {
        try {
          database.exec(step)
        } catch (error) {
          throw explainFailedStep(error, { place: path, step: version + index + 1 })
        }
      }
      database.pragma(`application_id = ${applicationIds.ledger}`)
      database.pragma(`user_version = ${ledgerSteps.length}`)
    })
    .immediate()
}

/** Whether a disk is full; the file that the processes of a ledger share has a code of its own. */
function isFull(code: string): boolean {
  return /^SQLITE_(FULL|IOERR_SHMSIZE)/.test(code)
}

/** SQLite's error about a file as a `StoreOpenError`, if the file is the cause. */
export function explainOpenFailure(error: unknown, path: string): unknown {
  if (error instanceof StoreOpenError) return error
  const code = codeOf(error)
  if (code.startsWith('SQLITE_NOTADB') || code.startsWith('SQLITE_CORRUPT')) {
    return new StoreOpenError('no_sqlite_file', { place: path, cause: code })
  }
  if (isFull(code)) return new StoreOpenError('no_room', { place: path, cause: code })
  if (code === 'EISDIR') return new StoreOpenError('file_is_folder', { place: path })
  if (code === 'unknown') return error
  return new StoreOpenError('file_not_writable', { place: path, cause: code })
}

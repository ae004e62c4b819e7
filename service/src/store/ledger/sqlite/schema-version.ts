import { closeSync, existsSync, openSync, readSync } from 'node:fs'

import Database from 'better-sqlite3'

import { explainForbidden, findFile } from './find-file.ts'
import { applicationId, explainOpenFailure, refuseForeign } from './open.ts'
import { ledgerSteps } from './schema.ts'

/** The schema version of this release, which is its number of steps. */
export const neededVersion = ledgerSteps.length

/** Where the header of a SQLite file stores its schema version and its application id. */
const header = { length: 100, magic: 'SQLite format 3\0', versionAt: 60, applicationIdAt: 68 }

/**
 * How many schema steps a file has, 0 if it is empty; undefined if there is no file. Only reads, so that not
 * even SQLite's companion files are created. Throws a `StoreOpenError` if the file is damaged or belongs to
 * another program.
 */
export function readSqliteVersion(path: string): number | undefined {
  if (!findFile(path)) return undefined
  try {
    // A log next to the file may have a newer first page, which only SQLite can read.
    return existsSync(`${path}-wal`) ? readThroughSqlite(path) : readFromHeader(path)
  } catch (error) {
    throw explainOpenFailure(explainForbidden(error, path), path)
  }
}

function readThroughSqlite(path: string): number {
  const reader = new Database(path, { readonly: true, timeout: 5_000 })
  try {
    if (Number(reader.pragma('application_id', { simple: true })) !== applicationId) refuseForeign(path)
    return Number(reader.pragma('user_version', { simple: true }))
  } finally {
    reader.close()
  }
}

function readFromHeader(path: string): number {
  const bytes = Buffer.alloc(header.length)
  const file = openSync(path, 'r')
  try {
    if (readSync(file, bytes) === 0) return 0
  } finally {
    closeSync(file)
  }
  const isSqlite = bytes.toString('latin1').startsWith(header.magic)
  if (!isSqlite || bytes.readUInt32BE(header.applicationIdAt) !== applicationId) refuseForeign(path)
  return bytes.readUInt32BE(header.versionAt)
}

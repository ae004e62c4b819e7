import { closeSync, existsSync, openSync, readSync } from 'node:fs'

import Database from 'better-sqlite3'

import { applicationId, explainOpenFailure, refuseForeign } from './open.ts'
import { ledgerSteps } from './schema.ts'

/** The schema that this release needs, as the number of its steps. */
export const neededVersion = ledgerSteps.length

/** Where the first bytes of a SQLite file say the version of its schema, and whose it is. */
const header = { length: 100, magic: 'SQLite format 3\0', versionAt: 60, applicationIdAt: 68 }

/**
 * How many steps of the schema a file has seen, 0 when it is empty; undefined where there is no file. It
 * only looks, so that not even the files that SQLite keeps beside a database are made. Throws a
 * `StoreOpenError` when the file is damaged or of another program.
 */
export function readSqliteVersion(path: string): number | undefined {
  if (!existsSync(path)) return undefined
  try {
    // A log beside the file may hold a newer first page, which only SQLite can read.
    return existsSync(`${path}-wal`) ? readThroughSqlite(path) : readFromHeader(path)
  } catch (error) {
    throw explainOpenFailure(error, path)
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

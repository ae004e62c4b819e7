import { closeSync, existsSync, openSync, readSync } from 'node:fs'

import Database from 'better-sqlite3'

import { checkOwnership, codeOf, explainOpenFailure, StoreOpenError } from './open.ts'

/** Where the first page of a SQLite file says `user_version`. */
const versionOffset = 60
const headerBytes = 100

/**
 * The version of the schema that a file has, 0 for an empty one, undefined where there is no file.
 * Only looks: not even the files that SQLite keeps beside a database are made. Throws a `StoreOpenError`
 * when the file is damaged or of another program.
 */
export function readSqliteVersion(path: string): number | undefined {
  try {
    if (!existsSync(path)) return undefined
    // A log beside the file may hold a newer first page, which only SQLite can tell.
    if (existsSync(`${path}-wal`)) return readThroughSqlite(path)
    const header = readHeader(path)
    return header.length === 0 ? 0 : header.readUInt32BE(versionOffset)
  } catch (error) {
    throw explainOpenFailure(error, path)
  }
}

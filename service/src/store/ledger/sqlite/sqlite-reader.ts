import type { TableDialect } from '../reads/dialect.ts'
import type { Reader, RunQuery } from '../../sql.ts'
import type { SqliteDatabase } from './open.ts'
import { wholeName } from './schema.ts'

/** How to query SQLite. */
export const sqliteTables: TableDialect = { idParameter: (bytes) => bytes, nameOf: wholeName }

/** A reader of an open file. */
export function readerOf(database: SqliteDatabase): Reader {
  return readerOver(async (text, values) => database.prepare(text).all(...values))
}

/** Writes statements for SQLite and leaves running them to the caller. */
export function readerOver(query: RunQuery): Reader {
  return { parameter: () => '?', query }
}

import type { Reader, RunQuery } from '../../sql.ts'
import type { SqliteDatabase } from './open.ts'
import { wholeName } from './schema.ts'

/** A reader of an open file. */
export function readerOf(database: SqliteDatabase): Reader {
  return readerOver(async (text, values) => database.prepare(text).all(...values))
}

/** Writes statements for SQLite and leaves running them to the caller. */
export function readerOver(query: RunQuery): Reader {
  return { parameter: () => '?', idParameter: (bytes) => bytes, nameOf: wholeName, query }
}

import Database from 'better-sqlite3'

import type { Reader, RunQuery, Spelling } from '../../sql.ts'
import type { SqliteDatabase } from './open.ts'
import { wholeName } from './schema.ts'

/** Max statements that a reader keeps prepared. Each list has a few, depending on its filters. */
const maxPrepared = 200

/** A reader of an open file. */
export function readerOf(database: SqliteDatabase): Reader {
  const statements = new Map<string, Database.Statement>()
  return readerOver(async (text, values) => {
    let statement = statements.get(text)
    if (!statement) {
      statement = database.prepare(text)
      if (statements.size >= maxPrepared) statements.clear()
      statements.set(text, statement)
    }
    return statement.all(...values)
  })
}

/** Reads from one snapshot of a file, over a separate connection. A service may use the file then. */
export async function readSqliteSnapshot<Answer>(
  path: string,
  work: (db: Reader) => Promise<Answer>,
): Promise<Answer> {
  const database = new Database(path, { readonly: true, timeout: 5_000 }).defaultSafeIntegers(true)
  try {
    // Lasts until the file is closed.
    database.exec('begin')
    return await work(readerOf(database))
  } finally {
    database.close()
  }
}

/** How SQLite writes statements. */
export const spelling: Spelling = {
  parameter: () => '?',
  idParameter: (bytes) => bytes,
  nameOf: wholeName,
  withLetters: '',
}

/** Writes statements for SQLite and leaves running them to the caller. */
export function readerOver(query: RunQuery): Reader {
  return { ...spelling, query }
}

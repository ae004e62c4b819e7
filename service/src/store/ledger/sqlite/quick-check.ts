/**
 * The process in which a SQLite file is looked through: one statement, which nothing can interrupt but a signal. It is
 * called with the file, and prints what is damaged, a line each; nothing when nothing is. It exits with 1 when it cannot
 * look through the file.
 */

import { existsSync } from 'node:fs'
import { setPriority } from 'node:os'

import Database from 'better-sqlite3'

import { codeOf } from '../../error-code.ts'

/** More damage than this says nothing new. */
const maxLines = 3

const [path = ''] = process.argv.slice(2)
// Payments go first.
setPriority(10)
try {
  // A connection that may only read leaves behind the files that SQLite makes beside a database that nobody has open.
  const database = new Database(path, { readonly: existsSync(`${path}-wal`), timeout: 5_000 })
  database.pragma('query_only = on')
  const found = database.prepare<[], string>(`pragma quick_check(${maxLines})`).pluck().all()
  database.close()
  for (const line of found) if (line !== 'ok') console.log(line)
} catch (error) {
  const code = codeOf(error)
  if (/^SQLITE_(CORRUPT|NOTADB)/.test(code)) console.log(code)
  else process.exitCode = 1
}

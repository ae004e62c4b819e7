/**
 * The process that checks a SQLite file: one statement, which only a signal can interrupt. It takes the path
 * of the file, and prints one line per damaged item, or nothing. It exits with 1 if it cannot check the file.
 */

import { existsSync } from 'node:fs'
import { getPriority, setPriority } from 'node:os'

import Database from 'better-sqlite3'

import { codeOf } from '../../error-code.ts'

/** More damage than this adds no information. */
const maxLines = 3

const [path = ''] = process.argv.slice(2)
// Payments have priority. Only root may raise a lower priority.
setPriority(Math.max(10, getPriority()))
try {
  // A read-only connection would leave behind the files that SQLite creates next to an unopened database.
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

/**
 * The process in which a SQLite file is copied: one statement, which nothing can interrupt but a signal. It is called
 * with the file and the empty file that the copy goes to; standard error gets the code of an error.
 */

import { setPriority } from 'node:os'

import Database from 'better-sqlite3'

import { codeOf } from '../error-code.ts'

const [from = '', to = ''] = process.argv.slice(2)
// Payments go first.
setPriority(10)
try {
  const database = new Database(from, { readonly: true, timeout: 5_000 })
  database.prepare('vacuum into ?').run(to)
  database.close()
} catch (error) {
  const code = codeOf(error)
  process.stderr.write(code === 'unknown' ? String(error) : code)
  process.exitCode = 1
}

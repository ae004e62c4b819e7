/**
 * The process that copies a SQLite file: one statement, which only a signal can interrupt. Its args are the file, an empty
 * file for the copy, and the application id of the copy. Writes the code of an error to standard error.
 */

import { getPriority, setPriority } from 'node:os'

import Database from 'better-sqlite3'

import { codeOf } from '../store/error-code.ts'

const [from = '', to = '', applicationId] = process.argv.slice(2)
// Payments have priority. Only root may raise a lower priority.
setPriority(Math.max(10, getPriority()))
try {
  const database = new Database(from, { readonly: true, timeout: 5_000 })
  database.prepare('vacuum into ?').run(to)
  database.close()
  const copy = new Database(to)
  copy.pragma(`application_id = ${Number(applicationId)}`)
  copy.close()
} catch (error) {
  const code = codeOf(error)
  process.stderr.write(code === 'unknown' ? String(error) : code)
  process.exitCode = 1
}

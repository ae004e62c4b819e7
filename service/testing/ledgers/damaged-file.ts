import { closeSync, openSync, statSync, writeSync } from 'node:fs'

import Database from 'better-sqlite3'

/** Overwrites all pages of a ledger except the first four. */
export function damagePages(path: string): void {
  const file = openSync(path, 'r+')
  const from = 4 * 4_096
  writeSync(file, Buffer.alloc(statSync(path).size - from, 0x5a), 0, undefined, from)
  closeSync(file)
}

/** Overwrites the first page of a table or an index. */
export function damageRoot(path: string, part: string): void {
  const database = new Database(path)
  const page = Number(database.prepare('select rootpage from sqlite_schema where name = ?').pluck().get(part))
  const pageBytes = Number(database.pragma('page_size', { simple: true }))
  database.close()
  const file = openSync(path, 'r+')
  writeSync(file, Buffer.alloc(pageBytes, 0xff), 0, pageBytes, (page - 1) * pageBytes)
  closeSync(file)
}

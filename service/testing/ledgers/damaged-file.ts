import { closeSync, openSync, statSync, writeSync } from 'node:fs'

/** Overwrites all pages of a ledger except the first four. */
export function damagePages(path: string): void {
  const file = openSync(path, 'r+')
  const from = 4 * 4_096
  writeSync(file, Buffer.alloc(statSync(path).size - from, 0x5a), 0, undefined, from)
  closeSync(file)
}

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'

import { packAll, type Packed } from './pack.ts'

const folder = mkdtempSync(join(tmpdir(), 'purser-packed-'))
after(() => rmSync(folder, { recursive: true, force: true }))

let packed: Promise<Packed[]> | undefined

/** All published packages, packed once for the tests of a process. */
export function packOnce(): Promise<Packed[]> {
  packed ??= packAll(folder)
  return packed
}

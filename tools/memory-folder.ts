import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** What a full run of the tests may need at once, with room to spare. */
const leastBytes = 8 * 2 ** 30

/**
 * A folder in memory for the databases of the tests, which then wait for no disk. It is removed when this process exits.
 * Undefined if `parent` is not in memory, has too little room, or may hold no programs.
 */
export function createMemoryFolder(parent = '/dev/shm', bytes = leastBytes): string | undefined {
  let folder: string | undefined
  const remove = () => folder && rmSync(folder, { recursive: true, force: true })
  try {
    const { type, bavail, bsize } = statfsSync(parent)
    if (type !== tmpfs || Math.min(bavail * bsize, process.availableMemory()) < bytes) return undefined
    folder = mkdtempSync(join(parent, 'purser-tests-'))
    // A server of PostgreSQL has a user of its own.
    chmodSync(folder, 0o1777)
    const program = join(folder, 'program')
    writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 })
    if (spawnSync(program).status === 0) {
      process.on('exit', remove)
      return folder
    }
  } catch {
    // The tests use the system's folder for temporary files.
  }
  remove()
  return undefined
}

/** The type of a file system in memory, as Linux numbers it. */
const tmpfs = 0x01021994

import { spawn } from 'node:child_process'
import { rmSync, statSync } from 'node:fs'
import { extname, join } from 'node:path'
import { text } from 'node:stream/consumers'

import { createPrivateFile, syncFile } from './private-file.ts'
import { StoreOpenError } from '../open-error.ts'

export interface CopyFileOptions {
  readonly from: string
  /** Where the copy goes; nothing may be there. */
  readonly to: string
  /** Ends the copy, and removes what there is of it. */
  readonly signal?: AbortSignal | undefined
  /** Called a few times a second with the bytes that are written. */
  readonly onProgress?: ((bytes: number) => void) | undefined
}

/** How often progress is reported. */
const progressMs = 200

/**
 * Copies a SQLite ledger as it is at one moment, and resolves to the size of the copy in bytes once that is on the
 * disk. A service may write the ledger meanwhile: the copy is made by `vacuum into` in a process of its own, which
 * reads one snapshot and is never started over by a commit. Only this user may read the copy. Throws a
 * `StoreOpenError` when it cannot be made.
 */
export async function copySqliteFile({ from, to, signal, onProgress }: CopyFileOptions): Promise<number> {
  createPrivateFile(to)
  try {
    await vacuumInto({ from, to, signal, onProgress })
    syncFile(to)
    return statSync(to).size
  } catch (error) {
    removeSqliteFile(to)
    throw error
  }
}

/** Removes a SQLite file with what SQLite and the service keep beside it. */
export function removeSqliteFile(path: string): void {
  for (const suffix of ['', '-journal', '-wal', '-shm', '.lock']) rmSync(`${path}${suffix}`, { force: true })
}

async function vacuumInto({ from, to, signal, onProgress }: CopyFileOptions): Promise<void> {
  signal?.throwIfAborted()
  // Beside this file, and compiled as it is.
  const program = join(import.meta.dirname, `vacuum-into${extname(import.meta.filename)}`)
  const copying = spawn(process.execPath, [program, from, to], { stdio: ['ignore', 'ignore', 'pipe'] })
  const kill = () => void copying.kill('SIGKILL')
  signal?.addEventListener('abort', kill)
  const progress = setInterval(() => onProgress?.(statSync(to).size), progressMs)
  try {
    const ended = new Promise<number | null>((resolve, reject) => {
      copying.once('error', reject)
      copying.once('close', resolve)
    })
    const [code, said] = await Promise.all([ended, text(copying.stderr)])
    signal?.throwIfAborted()
    if (code === 0) return
    throw explain(said.trim() || `code ${code}`, { from, to })
  } finally {
    clearInterval(progress)
    signal?.removeEventListener('abort', kill)
  }
}

function explain(said: string, { from, to }: Pick<CopyFileOptions, 'from' | 'to'>): StoreOpenError {
  if (said.startsWith('SQLITE_FULL')) return new StoreOpenError('no_room', { place: to })
  if (said.startsWith('SQLITE_CORRUPT') || said.startsWith('SQLITE_NOTADB')) {
    return new StoreOpenError('source_damaged', { place: from, cause: said })
  }
  return new StoreOpenError('file_not_copied', { place: from, target: to, cause: said })
}

import { rmSync, statSync } from 'node:fs'
import { extname, join } from 'node:path'

import { applicationIds } from '../store/ledger/sqlite/file-header.ts'
import { StoreOpenError } from '../store/open-error.ts'
import { createPrivateFile, syncFile } from './private-file.ts'
import { runToEnd } from './run-program.ts'

export interface CopyFileOptions {
  readonly from: string
  /** A path without a file. */
  readonly to: string
  /** What the copy is. No service starts on a backup. */
  readonly as: keyof typeof applicationIds
  /** Aborts the copy, and removes what was written. */
  readonly signal?: AbortSignal | undefined
  /** Called a few times a second with the bytes that are written. */
  readonly onProgress?: ((bytes: number) => void) | undefined
}

/** How often progress is reported. */
export const progressMs = 200

/**
 * Copies a SQLite ledger, and resolves to the size of the copy in bytes once it is on the disk. The copy is
 * consistent even if a service writes the ledger at the same time: a separate process runs `vacuum into`,
 * which reads one snapshot and is not restarted by commits. Only this user may read the copy. Throws a
 * `StoreOpenError` if it fails.
 */
export async function copySqliteFile({ from, to, as, signal, onProgress }: CopyFileOptions): Promise<number> {
  createPrivateFile(to)
  const progress = setInterval(() => onProgress?.(statSync(to).size), progressMs)
  try {
    // Next to this file, and compiled like it.
    const program = join(import.meta.dirname, `vacuum-into${extname(import.meta.filename)}`)
    await runToEnd(process.execPath, [program, from, to, String(applicationIds[as])], { signal })
    syncFile(to)
    return statSync(to).size
  } catch (error) {
    removeSqliteFile(to)
    signal?.throwIfAborted()
    throw explain((error as Error).message, { from, to })
  } finally {
    clearInterval(progress)
  }
}

/** Removes a SQLite file, with the files that SQLite and the service keep next to it. */
export function removeSqliteFile(path: string): void {
  for (const suffix of ['', '-journal', '-wal', '-shm', '.lock']) rmSync(`${path}${suffix}`, { force: true })
}

function explain(message: string, { from, to }: Pick<CopyFileOptions, 'from' | 'to'>): StoreOpenError {
  if (message.startsWith('SQLITE_FULL'))
    return new StoreOpenError('no_room', { place: to, cause: 'SQLITE_FULL' })
  if (message.startsWith('SQLITE_CORRUPT') || message.startsWith('SQLITE_NOTADB')) {
    return new StoreOpenError('source_damaged', { place: from, cause: message })
  }
  return new StoreOpenError('file_not_copied', { place: from, target: to, cause: message })
}

import { execFile } from 'node:child_process'
import { extname, join } from 'node:path'
import { promisify } from 'node:util'

import { StoreOpenError } from '../../open-error.ts'

/** The result of a check: `unfinished` if it took too long, or could not read the file. */
export type FileCheck = 'sound' | 'unfinished' | { readonly damage: string }

/**
 * Throws a `StoreOpenError` unless every page of a SQLite ledger is sound, however long that takes. The error names the
 * file that it is a copy of, if any.
 */
export async function refuseDamage(
  path: string,
  { copyOf, signal }: { readonly copyOf?: string; readonly signal?: AbortSignal } = {},
): Promise<void> {
  const outcome = await checkSqliteFile(path, { signal })
  if (outcome === 'sound') return
  const place = copyOf ?? path
  if (outcome === 'unfinished') throw new StoreOpenError('damage_unknown', { place })
  const code = copyOf === undefined ? 'file_damaged' : 'source_damaged'
  throw new StoreOpenError(code, { place, cause: outcome.damage })
}

interface CheckOptions {
  /** Without one, the check takes as long as it takes. */
  readonly timeoutMs?: number | undefined
  readonly signal?: AbortSignal | undefined
}

/** Checks every page of a SQLite ledger, in a separate process. A service may use the file then. */
export async function checkSqliteFile(path: string, { timeoutMs, signal }: CheckOptions): Promise<FileCheck> {
  // Next to this file, and compiled like it.
  const program = join(import.meta.dirname, `quick-check${extname(import.meta.filename)}`)
  const options = { timeout: timeoutMs, signal, killSignal: 'SIGKILL' } as const
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [program, path], options)
    const damage = stdout.trim().replaceAll(/\s*\n\s*/g, '; ')
    return damage === '' ? 'sound' : { damage: damage.slice(0, maxDamageLength) }
  } catch {
    signal?.throwIfAborted()
    // If the process was killed, for example for lack of memory, the check found nothing.
    return 'unfinished'
  }
}

/** How much of SQLite's output is repeated. */
const maxDamageLength = 300

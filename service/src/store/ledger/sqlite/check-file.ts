import { execFile } from 'node:child_process'
import { extname, join } from 'node:path'
import { promisify } from 'node:util'

/** The result of a check: `unfinished` if it took too long, or could not read the file. */
export type FileCheck = 'sound' | 'unfinished' | { readonly damage: string }

/** Checks every page of a SQLite ledger, in a separate process with a time limit. A service may use the file then. */
export async function checkSqliteFile(path: string, timeoutMs: number): Promise<FileCheck> {
  // Next to this file, and compiled like it.
  const program = join(import.meta.dirname, `quick-check${extname(import.meta.filename)}`)
  const options = { timeout: timeoutMs, killSignal: 'SIGKILL' } as const
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [program, path], options)
    const damage = stdout.trim().replaceAll(/\s*\n\s*/g, '; ')
    return damage === '' ? 'sound' : { damage: damage.slice(0, maxDamageLength) }
  } catch {
    // If the process was killed, for example for lack of memory, the check found nothing.
    return 'unfinished'
  }
}

/** How much of SQLite's output is repeated. */
const maxDamageLength = 300

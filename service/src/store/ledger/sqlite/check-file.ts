import { spawn } from 'node:child_process'
import { extname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'

/** How a look through a file ended: `unfinished` when the time was over before its end. */
export type FileCheck = 'sound' | 'unfinished' | { readonly damage: string }

/**
 * Looks through every page of a SQLite ledger, in a process of its own, for at most so long. It changes nothing, and a
 * service may use the file meanwhile.
 */
export async function checkSqliteFile(path: string, timeoutMs: number): Promise<FileCheck> {
  // Beside this file, and compiled as it is.
  const program = join(import.meta.dirname, `quick-check${extname(import.meta.filename)}`)
  const checking = spawn(process.execPath, [program, path], { stdio: ['ignore', 'pipe', 'ignore'] })
  const stopped = new AbortController()
  const timeout = sleep(timeoutMs, 'unfinished' as const, { signal: stopped.signal })
  const ended = new Promise<number | null>((resolve, reject) => {
    checking.once('error', reject)
    checking.once('close', resolve)
  })
  try {
    const outcome = await Promise.race([Promise.all([ended, text(checking.stdout)]), timeout])
    if (outcome === 'unfinished') return outcome
    const [code, said] = outcome
    // A process that was killed, as one without memory is, has found nothing.
    if (code !== 0) return 'unfinished'
    const damage = said.trim().replaceAll(/\s*\n\s*/g, '; ')
    return damage === '' ? 'sound' : { damage: damage.slice(0, maxDamageLength) }
  } finally {
    checking.kill('SIGKILL')
    stopped.abort()
    timeout.catch(() => undefined)
  }
}

/** How much of what SQLite says is repeated. */
const maxDamageLength = 300

import type { FastifyBaseLogger } from 'fastify'

import type { Observer } from './repeating.ts'
import { codeOf } from './store/error-code.ts'
import { StoreUnavailableError } from './store/store.ts'

export interface BackgroundLogOptions {
  readonly log: Pick<FastifyBaseLogger, 'error' | 'warn' | 'info'>
  /** Where the ledger lies, as a person may read it. */
  readonly place: string
}

/**
 * Tells the log what becomes of work that nobody asked for. While the store is unavailable all of it fails again and
 * again: one line says so when that begins, and one when all works again. Any other failure is a line with its stack.
 */
export function createBackgroundLog({ log, place }: BackgroundLogOptions): Observer {
  const waiting = new Set<string>()
  return {
    failed(what, error) {
      if (!(error instanceof StoreUnavailableError)) {
        log.error({ err: error }, what)
        return
      }
      if (waiting.size === 0) {
        log.warn(`${place} is unavailable (${reasonOf(error)}); work in the background waits for it`)
      }
      waiting.add(what)
    },
    worked(what) {
      if (waiting.delete(what) && waiting.size === 0) log.info(`${place} is available again`)
    },
  }
}

function reasonOf({ message, cause }: StoreUnavailableError): string {
  const code = codeOf(cause)
  return code === 'unknown' ? message : code
}

import type { FastifyBaseLogger } from 'fastify'

import { keyOfError, RepeatedErrors } from '../http/repeated-errors.ts'
import type { Observer } from './repeating.ts'
import { codeOf } from '../store/error-code.ts'
import { StoreUnavailableError } from '../store/store.ts'

export interface BackgroundLogOptions {
  readonly log: Pick<FastifyBaseLogger, 'error' | 'warn' | 'info'>
  /** The location of the ledger, for display. */
  readonly place: string
}

/**
 * Logs the results of background work. While the store is unavailable, one line says so when it begins, and
 * one when it ends. Any other failure is logged with its stack.
 */
export function createBackgroundLog({ log, place }: BackgroundLogOptions): Observer {
  const waiting = new Set<string>()
  const repeated = new RepeatedErrors()
  return {
    failed(what, error) {
      if (!(error instanceof StoreUnavailableError)) {
        const key = `${what} ${error instanceof Error ? keyOfError(error) : String(error)}`
        const isFirst = repeated.isFirst(key, (count) => log.error({ count }, `${what}, ${count} more times`))
        if (isFirst) log.error({ err: error }, what)
        return
      }
      if (waiting.size === 0) {
        log.warn(`${place} is unavailable (${reasonOf(error)}); background work waits for it`)
      }
      waiting.add(what)
    },
    worked(what) {
      if (waiting.delete(what) && waiting.size === 0) log.info(`${place} is available again`)
    },
  }
}

/** Logs waits for a database connection: once in ten seconds, then a count. */
export function createWaitLog(log: BackgroundLogOptions['log']): (waitedMs: number) => void {
  const repeated = new RepeatedErrors()
  return (waitedMs) => {
    const what = 'waited for a database connection'
    const isFirst = repeated.isFirst(what, (count) => log.warn({ count }, `${what}, ${count} more times`))
    if (isFirst)
      log.warn({ waitedMs: Math.round(waitedMs) }, `${what} for ${(waitedMs / 1_000).toFixed(1)} s`)
  }
}

function reasonOf({ message, cause }: StoreUnavailableError): string {
  const code = codeOf(cause)
  return code === 'unknown' ? message : code
}

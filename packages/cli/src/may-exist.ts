import { ApiError } from '@purser/client'

import type { Io } from './io.ts'

/**
 * Says on standard error that a record may have been created although no answer came, and rethrows the error. A
 * creation is not retried, and repeating the command would create a second record, such as a second budget.
 */
export function mayExist(list: string, { calledAs, printError }: Pick<Io, 'calledAs' | 'printError'>) {
  return (error: unknown): never => {
    const isCertain = (error instanceof ApiError && error.status < 500) || isUnreached(error)
    if (!isCertain) printError(`It may have been created: see ${calledAs} ${list} before you repeat this.`)
    throw error
  }
}

/** Whether no connection was made; the client passes on the error of fetch, whose cause has the code. */
function isUnreached(error: unknown): boolean {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause.cause : undefined
  return (
    cause instanceof Error && 'code' in cause && ['ECONNREFUSED', 'ENOTFOUND'].includes(String(cause.code))
  )
}

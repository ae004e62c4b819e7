import { ApiError } from '@purser/client'

import { codeOf } from './error-code.ts'
import type { Io } from './io.ts'
import { harmless } from './output/harmless.ts'

/**
 * Says on standard error that a record may have been created although no answer came, and rethrows the error.
 * Repeating the command would create a second record, such as a second budget.
 */
export function mayExist(
  list: string,
  { calledAs, printError }: Pick<Io, 'calledAs' | 'printError'>,
  done = 'created',
) {
  return (error: unknown): never => {
    if (!isCertain(error))
      printError(harmless(`It may have been ${done}: see ${calledAs} ${list} before you repeat this.`))
    throw error
  }
}

/**
 * Says on standard error that a call with an idempotency key may have taken effect although no answer came, and
 * rethrows the error. `done` is what it does, such as `refunded`.
 */
export function mayBe(done: string, idempotencyKey: string, { printError }: Pick<Io, 'printError'>) {
  return (error: unknown): never => {
    if (!isCertain(error)) {
      const repeat = `repeat it with --idempotency-key ${idempotencyKey}, and it is ${done} once`
      printError(harmless(`It may have been ${done}; ${repeat}.`))
    }
    throw error
  }
}

function isCertain(error: unknown): boolean {
  return (error instanceof ApiError && error.status < 500) || isUnreached(error)
}

/** Whether no connection was made; the client passes on the error of fetch, whose cause has the code. */
function isUnreached(error: unknown): boolean {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause.cause : undefined
  return ['ECONNREFUSED', 'ENOTFOUND'].includes(codeOf(cause))
}

import { DatabaseError } from 'pg'

import { isConnectionFailure } from '../../postgres/connection.ts'
import { OutcomeUnknownError, RolledBackError, RowExistsError } from '../driver.ts'

/**
 * What became of a transaction that has failed, as the runner has to know it: whether it may have been committed, and
 * whether another attempt may succeed. Any other error is given back as it is: it proves a rollback, and would come again.
 *
 * Once COMMIT was sent only an answer of the server itself proves a rollback, and not every one: a server that ends, a pool
 * that has lost it, or a disk that fails may have committed before.
 */
export function explainFailure(error: unknown, { isCommitSent }: { readonly isCommitSent: boolean }): unknown {
  if (error instanceof NotCommittedError) return new RolledBackError(error.message, { cause: error })
  const options = { cause: error }
  const message = error instanceof Error ? error.message : String(error)
  // A code of Node, such as EPIPE, can look like one of the server.
  const code = error instanceof DatabaseError ? (error.code ?? '') : undefined
  const isProof =
    code !== undefined && provingRollback.test(code) && (error as DatabaseError).severity === 'ERROR'
  if (isCommitSent && !isProof) return new OutcomeUnknownError(message, options)
  if (code === uniqueViolation) return new RowExistsError(message, options)
  if (code === undefined ? isConnectionFailure(error) : passing.test(code)) {
    return new RolledBackError(message, options)
  }
  return error
}

/** The server has answered COMMIT with a rollback. */
export class NotCommittedError extends Error {
  override readonly name = 'NotCommittedError'
}

const uniqueViolation = '23505'

/**
 * The classes of SQLSTATE, and single codes, that the server answers only while a transaction can still be rolled back, and
 * because of which it is: errors of statements and of their data, and conflicts of two transactions.
 */
const provingRollback = /^(0A|21|22|23|25|26|34|40(?!003)|42|44|54|55|57014)/

/** Another attempt may succeed: two transactions met, or the server is about to be another one, or has no room now. */
const passing =
  /^(08|40|53|58|XX|55P03|57014|57P0[1-35]|25006|25P0[234]|26000|0A000)/

/** Whether the connection is of no more use after an error. */
export function breaksConnection(error: unknown): boolean {
  if (!(error instanceof DatabaseError)) return true
  const { code = '', severity } = error
  return severity !== 'ERROR' || code.startsWith('08') || ['26000', '0A000'].includes(code)
}

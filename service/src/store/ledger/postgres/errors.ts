import { DatabaseError } from 'pg'

import { isConnectionFailure } from './connection.ts'
import { OutcomeUnknownError, RolledBackError, RowExistsError, RowLockedError } from '../driver.ts'

/**
 * What became of a transaction that has failed, as the runner has to know it: whether it may have been committed, and
 * whether another attempt may succeed. Any other error is given back as it is: nothing was committed, and it would come
 * again.
 *
 * Once COMMIT was sent only an answer of the server itself proves a rollback, and not every one: a server that ends, a pool
 * that has lost it, or a disk that fails may have committed before.
 */
export function explainFailure(
  error: unknown,
  { isCommitSent }: { readonly isCommitSent: boolean },
): unknown {
  const message = error instanceof Error ? error.message : String(error)
  const options = { cause: error }
  // A code of Node, such as EPIPE, can look like one of the server.
  const code = error instanceof DatabaseError ? (error.code ?? '') : undefined
  if (isCommitSent && !(code !== undefined && provesRollback.test(code))) {
    return new OutcomeUnknownError(message, options)
  }
  if (code === uniqueViolation) return new RowExistsError(message, options)
  if (code === lockNotAvailable) return new RowLockedError(message, options)
  const mayPass = code === undefined ? isConnectionFailure(error) : code === rowChanged || passing.test(code)
  return mayPass ? new RolledBackError(message, options) : error
}

const uniqueViolation = '23505'
const lockNotAvailable = '55P03'
/** Of the logarithm of zero: a row that was looked at has changed since. */
export const rowChanged = '2201E'

/**
 * Classes of SQLSTATE, and codes, that the server answers only while it can still roll back, and then does: errors of
 * statements and of their data, and conflicts of two transactions.
 */
const provesRollback = /^(0A|21|22|23|25(?!P03|P04)|26|34|40(?!003)|42|44|54|55|57014)/

/** Another attempt may succeed: two transactions met, or the server is about to be another one, or has no room just now. */
const passing = /^(08|40|53|58|XX|55P03|57014|57P0|25006|25P0|26000|0A000)/

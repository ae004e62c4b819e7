import { DatabaseError } from 'pg'

import { codeOf } from '../../error-code.ts'
import {
  OutcomeUnknownError,
  RolledBackError,
  RowExistsError,
  RowLockedError,
  StaleRowsError,
} from '../driver.ts'

/**
 * The result of a failed transaction for the runner: whether it may have been committed, and whether another attempt
 * may succeed. Any other error is returned unchanged: nothing was committed, and a retry would fail too.
 *
 * Once COMMIT was sent, only certain responses of the server prove a rollback: a server that shuts down, a pooler
 * that has lost it, or a failing disk may have committed before.
 */
export function explainFailure(
  error: unknown,
  { isCommitSent, usesCache = false }: { readonly isCommitSent: boolean; readonly usesCache?: boolean },
): unknown {
  const message = error instanceof Error ? error.message : String(error)
  const options = { cause: error }
  // A Node error code such as EPIPE can look like an SQLSTATE.
  const code = error instanceof DatabaseError ? (error.code ?? '') : undefined
  if (isCommitSent && !(code !== undefined && provesRollback.test(code))) {
    return new OutcomeUnknownError(message, options)
  }
  if (usesCache && staleRow.test(code ?? '')) return new StaleRowsError(message, options)
  if (code === uniqueViolation) return new RowExistsError(message, options)
  if (code === lockNotAvailable) return new RowLockedError(message, options)
  const mayPass = code === undefined ? isConnectionFailure(error) : code === rowChanged || passing.test(code)
  return mayPass ? new RolledBackError(message, options) : error
}

const uniqueViolation = '23505'
const lockNotAvailable = '55P03'
/** From the logarithm of zero: a row that was read has changed since. */
const rowChanged = '2201E'

/**
 * SQLSTATE classes and codes that the server returns only while it can still roll back, and then does: errors of
 * statements and their data, and conflicts of two transactions.
 */
const provesRollback = /^(0A|21|22|23|25(?!P03|P04)|26|34|40(?!003)|42|44|54|55|57014)/

/** Another attempt may succeed: a conflict, a failover, or a temporary lack of resources. */
const passing = /^(08|40|53|58|XX|55P03|57014|57P0|25006|25P0|26000|0A000)/

/** A cached row was stale, so that a write could also break a constraint, or locked. */
const staleRow = /^(2201E|22012|23...|55P03|40P01|40001)$/

/** Whether another attempt of a read may succeed soon. */
export function isPassing(error: unknown): boolean {
  const code = codeOf(error)
  return (passing.test(code) && !isExhausted(code)) || isConnectionFailure(error)
}

/** Whether a server with this error cannot commit: it has no space, its disk fails, or it has become a standby. */
export function cannotCommit(code: string): boolean {
  return code === '25006' || isExhausted(code)
}

/** Whether the server will return this error for a while: insufficient resources, except connections, or a system error. */
export function isExhausted(code: string): boolean {
  return /^(53(?!300)|58|XX)...$/.test(code)
}

/** Whether the connection is unusable after this error. */
export function breaksConnection(error: unknown): boolean {
  return !(error instanceof DatabaseError) || /^(57P|26000|0A000|25P03|25P04|57014)/.test(error.code ?? '')
}

/** Whether the connection failed, not the query. */
export function isConnectionFailure(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = codeOf(error)
  return networkCodes.includes(code) || (code === 'unknown' && connectionMessages.test(error.message))
}

/** Node's errors for an unreachable server. */
const networkCodes = [
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
  'EACCES',
  'EPIPE',
  'ETIMEDOUT',
]

/** Messages of `pg`, without a code, for a lost or silent connection. */
const connectionMessages =
  /^(Connection terminated|Query read timeout|timeout e|Client has encountered|Client was closed|The server does not support SSL|There was an error establishing an SSL)/

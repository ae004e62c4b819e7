import { setTimeout as sleep } from 'node:timers/promises'

import { DatabaseError } from 'pg'

import { codeOf } from '../../error-code.ts'
import { StoreUnavailableError } from '../../store.ts'
import { isConnectionFailure } from './connection.ts'

export interface RetryOptions {
  /** The deadline of the last attempt, by `performance.now()`. */
  readonly deadlineMs: number
  /** From 0 to below 1; adds jitter to retries after conflicts. */
  readonly random: () => number
}

/**
 * Retries a read while PostgreSQL reports that another attempt may succeed. Throws a `StoreUnavailableError` if none
 * succeeds in time.
 */
export async function withRetries<Result>(
  { deadlineMs, random }: RetryOptions,
  work: () => Promise<Result>,
): Promise<Result> {
  let lastError: unknown
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    if (attempt > 0) {
      const pauseMs = Math.min(longestPauseMs, shortestPauseMs * 2 ** attempt) * (0.5 + random())
      if (performance.now() + pauseMs > deadlineMs) break
      await sleep(pauseMs)
    }
    if (performance.now() >= deadlineMs) break
    try {
      return await work()
    } catch (error) {
      lastError = error
      const verdict = judge(error)
      if (verdict === 'fault') throw error
      if (verdict === 'unavailable') break
    }
  }
  throw unavailable(lastError)
}

const maxAttempts = 24
const shortestPauseMs = 2
const longestPauseMs = 500

/** The statement must be retried: a conflict, or a failover. */
const passing = [
  '40001', // serialization_failure
  '40P01', // deadlock_detected
  '55P03', // lock_not_available
  '57014', // query_canceled, by the time limit of a statement
  '25006', // read_only_sql_transaction: a primary that has become a standby
  '25P03', // idle_in_transaction_session_timeout
  '25P04', // transaction_timeout
  '26000', // invalid_sql_statement_name: a pool has forgotten it
  '0A000', // cached plan must not change result type
  '53300', // too_many_connections
  '57P01', // admin_shutdown
  '57P02', // crash_shutdown
  '57P03', // cannot_connect_now
]

/** Insufficient resources, and system errors, by SQLSTATE class. */
const exhausted = ['53', '58', 'XX']

type Verdict = 'again' | 'unavailable' | 'fault'

function judge(error: unknown): Verdict {
  const code = codeOf(error)
  if (passing.includes(code) || code.startsWith('08') || isConnectionFailure(error)) return 'again'
  return isExhausted(code) ? 'unavailable' : 'fault'
}

function unavailable(error: unknown): StoreUnavailableError {
  if (error instanceof StoreUnavailableError) return error
  const options = { retryAfterSeconds: 2, cause: error }
  if (!(error instanceof Error)) return new StoreUnavailableError('the store has no time for this', options)
  const code = codeOf(error)
  return new StoreUnavailableError(`PostgreSQL answers ${code === 'unknown' ? error.message : code}`, options)
}

/** Whether a server with this error cannot commit: it has no space, its disk fails, or it has become a standby. */
export function cannotCommit(code: string): boolean {
  return code === '25006' || isExhausted(code)
}

/** Whether it will return this error for a while. */
export function isExhausted(code: string): boolean {
  return code.length === 5 && code !== '53300' && exhausted.includes(code.slice(0, 2))
}

/** Whether the connection is unusable after this error. */
export function breaksConnection(error: unknown): boolean {
  // A Node error code such as EPIPE can look like an SQLSTATE.
  if (!(error instanceof DatabaseError)) return true
  const { code = '' } = error
  return code.startsWith('57P') || ['26000', '0A000', '25P03', '25P04', '57014'].includes(code)
}

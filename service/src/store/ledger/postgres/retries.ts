import { setTimeout as sleep } from 'node:timers/promises'

import { codeOf } from '../../error-code.ts'
import { StoreUnavailableError } from '../../store.ts'
import { pauseAfter } from '../pause-after.ts'
import { isExhausted, isPassing } from './errors.ts'

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
      const pauseMs = pauseAfter(attempt, random())
      if (performance.now() + pauseMs > deadlineMs) break
      await sleep(pauseMs)
    }
    if (performance.now() >= deadlineMs) break
    try {
      return await work()
    } catch (error) {
      lastError = error
      if (isPassing(error)) continue
      if (!isExhausted(codeOf(error))) throw error
      break
    }
  }
  throw unavailable(lastError)
}

const maxAttempts = 24

function unavailable(error: unknown): StoreUnavailableError {
  if (error instanceof StoreUnavailableError) return error
  const options = { retryAfterSeconds: 2, cause: error }
  if (!(error instanceof Error)) return new StoreUnavailableError('the store has no time for this', options)
  const code = codeOf(error)
  return new StoreUnavailableError(`PostgreSQL answers ${code === 'unknown' ? error.message : code}`, options)
}

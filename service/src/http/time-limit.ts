import { setTimeout as sleep } from 'node:timers/promises'

import { StoreUnavailableError } from '../store/store.ts'

/**
 * Limits the time of a store call: throws a `StoreUnavailableError` when it is up, whatever the store's own
 * timeout.
 */
export async function withinTimeLimit(answer: Promise<void>, limitMs: number): Promise<void> {
  const answered = new AbortController()
  const limit = sleep(limitMs, 'late', { signal: answered.signal }).catch(() => 'late')
  try {
    if ((await Promise.race([answer, limit])) !== 'late') return
  } finally {
    answered.abort()
  }
  throw new StoreUnavailableError(`the store did not answer within ${limitMs} ms`, { retryAfterSeconds: 1 })
}

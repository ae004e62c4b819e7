import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'

import { StoreUnavailableError } from '../store/store.ts'
import type { MaybePromise } from './maybe-promise.ts'

/**
 * Limits the time of a store call: throws a `StoreUnavailableError` when it is up, whatever the store's own
 * timeout.
 */
export async function withinTimeLimit<Value>(answer: MaybePromise<Value>, limitMs: number): Promise<Value> {
  const answered = new AbortController()
  const limit = sleep(limitMs, undefined, { signal: answered.signal }).then(async (): Promise<never> => {
    // An answer that has arrived while this thread was busy is read in the rest of the turn.
    await turn()
    throw new StoreUnavailableError(`the store did not answer within ${limitMs} ms`, { retryAfterSeconds: 1 })
  })
  try {
    return await Promise.race([answer, limit])
  } finally {
    answered.abort()
  }
}

/** Upper limit for the number of retries. */
export const maxRetriesLimit = 10

/** Max pause of a call; if the service requests a longer one, the error is thrown at once. */
const longestPauseMs = 10_000

const firstPauseMs = 200
const longestBackoffMs = 5_000

/** Whether a retry may get another response than this status. */
export function isPassing(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || status >= 500
}

/**
 * Milliseconds to wait before retry number `retry` (from 1): the service's `Retry-After`, plus backoff.
 * Undefined if the service requests more than the max pause.
 */
export function pauseMs(retry: number, askedMs: number | null, random: () => number): number | undefined {
  return askedMs !== null && askedMs > longestPauseMs ? undefined : (askedMs ?? 0) + backoffMs(retry, random)
}

/** Exponential backoff with full jitter, in milliseconds, so that clients do not retry in lockstep. */
export function backoffMs(retry: number, random: () => number): number {
  return random() * Math.min(firstPauseMs * 2 ** (retry - 1), longestBackoffMs)
}

/** The `Retry-After` of a response in milliseconds; null if it has no valid one. */
export function retryAfterMs(headers: Headers): number | null {
  return parseRetryAfter(headers.get('retry-after'))
}

/** A `Retry-After` value, seconds or a date, in milliseconds; null if it is neither. */
export function parseRetryAfter(value: string | null): number | null {
  const text = value?.trim() ?? ''
  if (/^\d+$/.test(text)) return Number(text) * 1000
  const ms = Date.parse(text) - Date.now()
  return Number.isNaN(ms) ? null : Math.max(0, ms)
}

/** Resolves after the given milliseconds; rejects with the signal's reason if it aborts. */
export function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error)
    const onAbort = () => {
      clearTimeout(timer)
      reject(signal?.reason as Error)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    }, milliseconds)
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}

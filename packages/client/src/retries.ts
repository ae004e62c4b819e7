/** Most repetitions of a request, whatever is asked for. */
export const maxRetriesLimit = 10

/** The longest pause that a call waits for; when the service asks for a longer one, the error is thrown at once. */
const longestPauseMs = 10_000

const firstPauseMs = 200
const longestBackoffMs = 5_000

/** Whether the same request may get another answer than this status a little later. */
export function isPassing(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || status >= 500
}

/**
 * Milliseconds to wait before repetition `retry` (from 1): what the service asks for, and a backoff. Undefined when the
 * service asks for longer than a call waits.
 */
export function pauseMs(retry: number, askedMs: number | null, random: () => number): number | undefined {
  return askedMs !== null && askedMs > longestPauseMs ? undefined : (askedMs ?? 0) + backoffMs(retry, random)
}

/** Exponential backoff with full jitter, in milliseconds, so that clients that failed together do not return together. */
export function backoffMs(retry: number, random: () => number): number {
  return random() * Math.min(firstPauseMs * 2 ** (retry - 1), longestBackoffMs)
}

/** What `Retry-After` asks for, in milliseconds; null when it says nothing that can be read. */
export function retryAfterMs(headers: Headers): number | null {
  return parseRetryAfter(headers.get('retry-after'))
}

/** The value of a `Retry-After` header, seconds or a date, in milliseconds; null when it is neither. */
export function parseRetryAfter(value: string | null): number | null {
  const text = value?.trim() ?? ''
  if (/^\d+$/.test(text)) return Number(text) * 1000
  const ms = Date.parse(text) - Date.now()
  return Number.isNaN(ms) ? null : Math.max(0, ms)
}

/** Resolves after so many milliseconds; rejects with the signal's reason when it aborts. */
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

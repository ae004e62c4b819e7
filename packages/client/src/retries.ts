/** Most repetitions of a request, whatever is asked for. */
export const maxRetriesLimit = 10

/** The longest pause that a call waits for; when the service asks for a longer one, the error is thrown at once. */
const longestPauseMs = 10_000

const firstPauseMs = 200
const longestBackoffMs = 5_000

/** Whether an answer of this status may be another one a little later. */
export function isPassing(status: number): boolean {
  return status === 408 || status === 429 || status >= 500
}

/**
 * Milliseconds to wait before repetition `retry` (from 1), anywhere between none and twice as much each time, so that
 * those who failed together do not return together. What the service asks for is waited for at the least.
 * Undefined when that is longer than a call waits.
 */
export function pauseMs(retry: number, askedMs: number | null, random: () => number): number | undefined {
  const spreadMs = random() * Math.min(firstPauseMs * 2 ** (retry - 1), longestBackoffMs)
  const pause = (askedMs ?? 0) + spreadMs
  return askedMs !== null && askedMs > longestPauseMs ? undefined : pause
}

/** What `Retry-After` asks for, in milliseconds: seconds, or a date; null when it says nothing that can be read. */
export function retryAfterMs(headers: Headers): number | null {
  const text = headers.get('retry-after')?.trim() ?? ''
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

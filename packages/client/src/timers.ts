/** The max delay of a timer, about 25 days. */
const longestTimerMs = 2 ** 31 - 1

/** A delay that a timer accepts: it takes a longer one, such as `Infinity`, for 1 ms. */
export function timerMs(delayMs: number): number {
  return Math.min(delayMs, longestTimerMs)
}

/** The result of the work; rejects with the signal's reason if that aborts before. */
export async function unlessAborted<Result>(
  work: Promise<Result>,
  signal: AbortSignal | undefined,
): Promise<Result> {
  if (!signal) return work
  signal.throwIfAborted()
  const listening = new AbortController()
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), listening)
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    listening.abort()
  }
}

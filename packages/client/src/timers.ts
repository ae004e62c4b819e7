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
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const onAbort = () => reject(signal.reason as Error)
  if (signal.aborted) onAbort()
  signal.addEventListener('abort', onAbort)
  try {
    return await Promise.race([aborted, work])
  } finally {
    // With the option `signal` instead, Node would keep the listener, and so the result, as long as the signal.
    signal.removeEventListener('abort', onAbort)
  }
}

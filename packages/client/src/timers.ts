/** The max delay of a timer, about 25 days. */
const longestTimerMs = 2 ** 31 - 1

/** A delay that a timer accepts: it takes a longer one, such as `Infinity`, for 1 ms. */
export function timerMs(delayMs: number): number {
  return Math.min(delayMs, longestTimerMs)
}

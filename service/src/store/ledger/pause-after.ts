/** How long to wait before another attempt, from 1 ms to 0.75 s; `random` is from 0 to below 1. */
export function pauseAfter(earlierPauses: number, random: number): number {
  return Math.min(500, 2 ** (earlierPauses + 1)) * (0.5 + random)
}

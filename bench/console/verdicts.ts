import type { Compared, ScreenTimes } from './compare.ts'

/** Max time of a screen on the server, and max factor compared with an empty ledger. */
const mostMs = 100
const mostTimes = 3

/** Prints the times of the screens and which limits are missed; returns whether all are met. */
export function reportScreens(screens: ScreenTimes): boolean {
  console.log(`\n${line('screen', ['p50 ms', 'p95 ms', 'empty', 'times', 'small', 'times'])}`)
  let isPassed = true
  for (const [screen, times] of screens) {
    const { p50, p95, empty, small } = figuresOf(times)
    // A single transaction cannot be requested from an empty ledger, so it is compared with the small one.
    const base = Number.isNaN(empty) ? small : empty
    const isMet = p95 <= mostMs && p50 <= mostTimes * base
    if (!isMet) isPassed = false
    const figures = [p50, p95, empty, p50 / empty, small, p50 / small].map((figure) =>
      Number.isNaN(figure) ? '' : figure.toFixed(2),
    )
    console.log(`${line(screen, figures)}${isMet ? '' : '  missed'}`)
  }
  return isPassed
}

function figuresOf({ large, small, empty }: Compared<readonly number[]>) {
  return { p50: at(large, 0.5), p95: at(large, 0.95), small: at(small, 0.5), empty: at(empty, 0.5) }
}

function line(screen: string, figures: readonly string[]): string {
  return screen.padEnd(44) + figures.map((figure) => figure.padStart(9)).join('')
}

function at(sorted: readonly number[], part: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * part) - 1)] ?? Number.NaN
}

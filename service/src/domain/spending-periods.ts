import { hourMs, quarterMs, quarterStart, startsOf } from './buckets.ts'
import { calendarPeriodAt } from './time/calendar.ts'

export type SpendingPeriod = '24h' | '7d' | '30d'

/** A period up to now, in buckets, and the previous period, in as many. */
export interface SpendingPeriods {
  /** The starts of the buckets, and the end of the last one. */
  readonly startsMs: readonly number[]
  /**
   * The same for the previous period. It ends at the current time of day, so that both have the same length.
   */
  readonly previousMs: readonly number[]
}

/**
 * The last 24 hours by hour, or the last days by day, with today. Days start at midnight of the time zone. The end is that
 * of the current quarter of an hour.
 */
export function spendingPeriods(
  period: SpendingPeriod,
  { nowMs, timeZone }: { readonly nowMs: number; readonly timeZone: string },
): SpendingPeriods {
  const endMs = quarterStart(nowMs) + quarterMs
  if (period === '24h') {
    const starts = (hours: number) => startsOf(endMs - hours * hourMs, hourMs, 24)
    return { startsMs: starts(24), previousMs: starts(48) }
  }
  const days = period === '7d' ? 7 : 30
  const midnightsMs = daysUpTo(nowMs, { timeZone, count: 2 * days }).slice(0, -1)
  const todayMs = midnightsMs[2 * days - 1]!
  const firstMs = midnightsMs[days]!
  // A day may have 23 hours, so the same time of the previous day may be after its end.
  const cutMs = Math.min(midnightsMs[days - 1]! + (endMs - todayMs), firstMs)
  return {
    startsMs: [...midnightsMs.slice(days), endMs],
    previousMs: [...midnightsMs.slice(0, days), cutMs],
  }
}

interface Days {
  readonly timeZone: string
  readonly count: number
}

/** The starts of consecutive days of a time zone, the last of which contains a time, and the end of that one. */
export function daysUpTo(atMs: number, { timeZone, count }: Days): number[] {
  const last = calendarPeriodAt({ calendar: 'day', timeZone }, atMs)
  const startsMs = [last.startsAtMs, last.endsAtMs]
  while (startsMs.length <= count) {
    startsMs.unshift(calendarPeriodAt({ calendar: 'day', timeZone }, startsMs[0]! - 1).startsAtMs)
  }
  return startsMs
}

/** The same for days of which the first contains a time. */
export function daysFrom(atMs: number, { timeZone, count }: Days): number[] {
  const startsMs = daysUpTo(atMs, { timeZone, count: 1 })
  while (startsMs.length <= count) {
    startsMs.push(calendarPeriodAt({ calendar: 'day', timeZone }, startsMs.at(-1)!).endsAtMs)
  }
  return startsMs
}

/** The widest buckets of equal width, from the first time on, that separate the times. */
export function commonWidth(timesMs: readonly number[]): number {
  const [firstMs = 0] = timesMs
  return timesMs.map((timeMs) => timeMs - firstMs).reduce(greatestDivisor, 0)
}

function greatestDivisor(one: number, other: number): number {
  return other === 0 ? one : greatestDivisor(other, one % other)
}

/** A calendar window: its periods start at local midnight. */
export interface CalendarWindow {
  readonly calendar: CalendarUnit
  /** An IANA name, such as `Europe/Berlin`. */
  readonly timeZone: string
  /** The first day of a week; Monday by default. */
  readonly weekStart?: WeekDay | undefined
  /** The first day of a monthly period; 1 by default. In shorter months it is their last day. */
  readonly dayOfMonth?: number | undefined
}

export type CalendarUnit = 'day' | 'week' | 'month' | 'year'
export type WeekDay = 'monday' | 'tuesday' | 'wednesday' | 'thursday' | 'friday' | 'saturday' | 'sunday'

export interface CalendarPeriod {
  readonly startsAtMs: number
  /** When the next period starts. */
  readonly endsAtMs: number
}

/**
 * The period of a calendar window at a time. Periods start at local midnight, or at the first instant of a
 * day without one. They leave no gap and never overlap: if a clock is set back over midnight, the new period
 * continues.
 */
export function calendarPeriodAt(window: CalendarWindow, atMs: number): CalendarPeriod {
  const name = nameOf(window)
  const known = lastPeriods.get(name)
  if (known && known.startsAtMs <= atMs && atMs < known.endsAtMs) return known
  const found = findPeriod(window, atMs)
  if (lastPeriods.size >= maxCached) lastPeriods.clear()
  lastPeriods.set(name, found)
  return found
}

/** Whether this is a time zone that calendar windows can use. */
export function isTimeZone(name: string): boolean {
  // Offsets such as `+01:00` would be accepted too, but they have no daylight saving time.
  if (!/^[A-Za-z]/.test(name)) return false
  try {
    formatterOf(name)
    return true
  } catch {
    return false
  }
}

/** The last period found for each kind of window: most look-ups are for the current one. */
const lastPeriods = new Map<string, CalendarPeriod>()
const maxCached = 1_000

function nameOf({ calendar, timeZone, weekStart, dayOfMonth }: CalendarWindow): string {
  return `${calendar} ${timeZone} ${weekStart} ${dayOfMonth}`
}

/** Periods are numbered: a day by the days since 1970, a month by the months since the year 0, and so on. */
function findPeriod(window: CalendarWindow, atMs: number): CalendarPeriod {
  const startOf = (number: number) => startOfDay(firstDayOf(window, number), window.timeZone)
  let number = numberOf(window, Math.floor((atMs + offsetAt(window.timeZone, atMs)) / dayMs))
  while (startOf(number) > atMs) number -= 1
  while (startOf(number + 1) <= atMs) number += 1
  return { startsAtMs: startOf(number), endsAtMs: startOf(number + 1) }
}

/** The number of the period around a day, or one next to it. */
function numberOf({ calendar, weekStart }: CalendarWindow, day: number): number {
  const date = new Date(day * dayMs)
  switch (calendar) {
    case 'day':
      return day
    case 'week':
      return Math.floor((day - firstWeekDay(weekStart)) / 7)
    case 'month':
      return date.getUTCFullYear() * 12 + date.getUTCMonth()
    case 'year':
      return date.getUTCFullYear()
    default:
      return calendar satisfies never
  }
}

function firstDayOf({ calendar, weekStart, dayOfMonth = 1 }: CalendarWindow, number: number): number {
  switch (calendar) {
    case 'day':
      return number
    case 'week':
      return number * 7 + firstWeekDay(weekStart)
    case 'month': {
      const { first, days } = monthOf(number)
      return first + Math.min(dayOfMonth, days) - 1
    }
    case 'year':
      return Date.UTC(number, 0, 1) / dayMs
    default:
      return calendar satisfies never
  }
}

function monthOf(number: number): { readonly first: number; readonly days: number } {
  const year = Math.floor(number / 12)
  const first = Date.UTC(year, number % 12, 1) / dayMs
  return { first, days: Date.UTC(year, (number % 12) + 1, 1) / dayMs - first }
}

const weekDays: readonly WeekDay[] = [
  'monday',
  'tuesday',
  'wednesday',
  'thursday',
  'friday',
  'saturday',
  'sunday',
]

/** The first day since 1970, a Thursday, on which a week starts. */
function firstWeekDay(weekStart: WeekDay = 'monday'): number {
  return weekDays.indexOf(weekStart) - weekDays.indexOf('thursday')
}

const dayMs = 86_400_000

/** No zone is further from UTC. */
const maxOffsetMs = 16 * 3_600_000

/** The first instant of a local day. */
function startOfDay(day: number, timeZone: string): number {
  const utcMs = day * dayMs
  let fromMs = utcMs - maxOffsetMs
  let toMs = utcMs + maxOffsetMs
  const before = offsetAt(timeZone, fromMs)
  const after = offsetAt(timeZone, toMs)
  if (before === after) return utcMs - before
  // The clocks change near this midnight: find out when.
  while (toMs - fromMs > 1) {
    const middleMs = Math.floor((fromMs + toMs) / 2)
    if (offsetAt(timeZone, middleMs) === before) fromMs = middleMs
    else toMs = middleMs
  }
  const midnightMs = utcMs - before
  return midnightMs < toMs ? midnightMs : Math.max(toMs, utcMs - after)
}

/** How far local time is ahead of UTC, in milliseconds. */
function offsetAt(timeZone: string, atMs: number): number {
  const parts: Record<string, number> = {}
  for (const { type, value } of formatterOf(timeZone).formatToParts(atMs)) parts[type] = Number(value)
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(atMs / 1_000) * 1_000
}

/** A time for people, rounded up to the second: `21 Nov 2026, 00:00 (Europe/Berlin)`. */
export function timeInWords(timeMs: number, timeZone = 'UTC'): string {
  const wholeMs = Math.ceil(timeMs / 1_000) * 1_000
  const local = new Date(wholeMs + offsetAt(timeZone, wholeMs))
  const [minutes = '', seconds] = local
    .toISOString()
    .slice(11, 19)
    .split(/:(?=\d\d$)/)
  const clock = seconds === '00' ? minutes : `${minutes}:${seconds}`
  return `${local.getUTCDate()} ${months[local.getUTCMonth()]} ${local.getUTCFullYear()}, ${clock} (${timeZone})`
}

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** The name of a time zone, however it is spelled: `europe/berlin` is `Europe/Berlin`, and `Etc/UTC` is `UTC`. */
export function zoneName(timeZone: string): string {
  return formatterOf(timeZone).resolvedOptions().timeZone
}

const formatters = new Map<string, Intl.DateTimeFormat>()

function formatterOf(timeZone: string): Intl.DateTimeFormat {
  const known = formatters.get(timeZone)
  if (known) return known
  const made = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
  if (formatters.size >= maxCached) formatters.clear()
  formatters.set(timeZone, made)
  return made
}

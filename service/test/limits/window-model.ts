import type { LimitWindow } from '../../src/domain/limits.ts'

// Windows by brute force, implemented separately from `domain/time/calendar.ts`: two times are in the same period
// if they have the same label.

/** A payment as far as windows are concerned. */
export interface Booked {
  readonly bookedAtMs: number
  readonly amountMicro: bigint
  readonly count: number
}

/** The min and max that may count in a window, because a rolling window may count 1/24 longer. */
export interface Span {
  readonly least: { readonly amountMicro: bigint; readonly count: number }
  readonly most: { readonly amountMicro: bigint; readonly count: number }
}

export function countIn(window: LimitWindow, booked: readonly Booked[], atMs: number): Span {
  if (typeof window === 'object' && 'rollingSeconds' in window) {
    const windowMs = window.rollingSeconds * 1_000
    return {
      least: sumOf(booked.filter(({ bookedAtMs }) => bookedAtMs > atMs - windowMs)),
      most: sumOf(booked.filter(({ bookedAtMs }) => bookedAtMs > atMs - (windowMs * 25) / 24 - 1)),
    }
  }
  const now = labelOf(window, atMs)
  const sum = sumOf(booked.filter(({ bookedAtMs }) => labelOf(window, bookedAtMs) === now))
  return { least: sum, most: sum }
}

function sumOf(booked: readonly Booked[]) {
  let amountMicro = 0n
  let count = 0
  for (const one of booked) {
    amountMicro += one.amountMicro
    count += one.count
  }
  return { amountMicro, count }
}

const labels = new Map<string, string>()

/** A text shared by all times of a period, and by no other time. */
function labelOf(window: Exclude<LimitWindow, { rollingSeconds: number }>, atMs: number): string {
  if (window === 'lifetime') return ''
  const name = `${JSON.stringify(window)} ${atMs}`
  const known = labels.get(name)
  if (known !== undefined) return known
  if (labels.size > 100_000) labels.clear()
  const label = findLabel(window, atMs)
  labels.set(name, label)
  return label
}

const formats = new Map<string, Intl.DateTimeFormat>()

function findLabel(
  {
    calendar,
    timeZone,
    weekStart = 'monday',
    dayOfMonth = 1,
  }: Exclude<LimitWindow, string | { rollingSeconds: number }>,
  atMs: number,
): string {
  let format = formats.get(timeZone)
  if (!format) {
    format = new Intl.DateTimeFormat('sv-SE', { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' })
    formats.set(timeZone, format)
  }
  // The Swedish format is that of ISO 8601.
  const date = format.format(atMs)
  const [year = 0, month = 0, day = 0] = date.split('-').map(Number)
  switch (calendar) {
    case 'day':
      return date
    case 'year':
      return String(year)
    case 'week': {
      // Go back, day by day, to the first day of the week.
      const names = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday']
      const start = new Date(Date.UTC(year, month - 1, day))
      while (names[start.getUTCDay()] !== weekStart) start.setUTCDate(start.getUTCDate() - 1)
      return start.toISOString().slice(0, 10)
    }
    case 'month': {
      const lastDay = new Date(Date.UTC(year, month, 0)).getUTCDate()
      // Before the first day of its period, it is in the period of the month before.
      const isBefore = day < Math.min(dayOfMonth, lastDay)
      return isBefore
        ? `${month === 1 ? year - 1 : year}-${month === 1 ? 12 : month - 1}`
        : `${year}-${month}`
    }
    default:
      return calendar satisfies never
  }
}

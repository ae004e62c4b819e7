const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

const clock = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'short' })

/** A timestamp by the reader's own clock and calendar. */
export function clockTime(at: string): string {
  const timeMs = Date.parse(at)
  return Number.isNaN(timeMs) ? at : clock.format(timeMs)
}

/** How far a timestamp is from now: `2 min. ago`, `in 3 days`. */
export function distance(at: string, nowMs: number): string {
  const timeMs = Date.parse(at)
  if (Number.isNaN(timeMs)) return at
  const awayMs = timeMs - nowMs
  const size = Math.abs(awayMs)
  if (size < 45_000) return awayMs > 0 ? 'in a moment' : 'just now'
  if (size < 45 * minuteMs) return relative.format(Math.round(awayMs / minuteMs), 'minute')
  if (size < 22 * hourMs) return relative.format(Math.round(awayMs / hourMs), 'hour')
  if (size < 60 * dayMs) return relative.format(Math.round(awayMs / dayMs), 'day')
  if (size < 400 * dayMs) return relative.format(Math.round(awayMs / (30 * dayMs)), 'month')
  return relative.format(Math.round(awayMs / (365 * dayMs)), 'year')
}

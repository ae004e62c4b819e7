export const minuteMs = 60_000
export const hourMs = 60 * minuteMs
export const dayMs = 24 * hourMs

// Month names, because 11/3 is ambiguous.
const locale = 'en-GB'
const toTheSecond = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'medium' })
const toTheMinute = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' })
const hourAndMinute = new Intl.DateTimeFormat(locale, { timeStyle: 'short' })
const dayAndMonth = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short' })
const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' })

/**
 * A timestamp in local time: `21 Nov 2026, 17:32:31`. Invalid text is returned unchanged. Each screen shows
 * the time zone once, at the bottom.
 */
export function clockTime(at: string): string {
  const timeMs = Date.parse(at)
  return Number.isNaN(timeMs) ? at : toTheSecond.format(timeMs)
}

/** The same in a list: `21 Nov 2026, 17:32`. */
export function clockMinute(at: string): string {
  const timeMs = Date.parse(at)
  return Number.isNaN(timeMs) ? at : toTheMinute.format(timeMs)
}

/** The time of day: `17:32`. */
export function timeOfDay(timeMs: number): string {
  return hourAndMinute.format(timeMs)
}

/** The day: `21 Nov`. */
export function dayOfYear(timeMs: number): string {
  return dayAndMonth.format(timeMs)
}

/** A relative time: `2 minutes ago`, `in 3 days`. */
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

/** The local time zone; UTC if the browser does not know it. */
export function localTimeZone(): string {
  const zone = new Intl.DateTimeFormat(locale).resolvedOptions().timeZone
  return zone === 'Etc/Unknown' ? 'UTC' : zone
}

/** The local time zone: `Europe/Berlin (CET)`, or `UTC`. */
export function timeZoneInWords(nowMs: number): string {
  const format = new Intl.DateTimeFormat(locale, { timeZoneName: 'short' })
  const zone = localTimeZone()
  const short = format.formatToParts(nowMs).find(({ type }) => type === 'timeZoneName')?.value
  return short === undefined || short === zone ? zone : `${zone} (${short})`
}

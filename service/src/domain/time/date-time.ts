/** The instant of an input, or the reason why it has none. */
export type DateTimeReading =
  | { readonly epochMs: number }
  | { readonly type: 'datetime_type' | 'timezone_aware' }
  | { readonly type: 'datetime_parsing' | 'datetime_from_date_parsing'; readonly error: string }

/**
 * The instant of an input in milliseconds since 1970, rounded down. Text is an ISO 8601 timestamp with a zone;
 * numbers, also as text, are Unix times: in seconds up to 2e10, positive or negative (the year 2603), and in
 * milliseconds beyond.
 */
export function parseDateTime(input: unknown): DateTimeReading {
  if (typeof input === 'number') return momentOr('datetime_parsing', fromUnixTime(input))
  if (typeof input !== 'string') return { type: 'datetime_type' }
  return parseTimestamp(input) ?? parseUnixTime(input) ?? readDateOnly(input)
}

/** The instant of a validated input, as from `parseDateTime`. */
export function readDateTime(validated: unknown): number {
  const reading = parseDateTime(validated)
  if ('epochMs' in reading) return reading.epochMs
  throw new RangeError(`not a timestamp: ${JSON.stringify(validated)}`)
}

/** `2099-01-01T12:30`, then optionally seconds, a fraction, and the zone. */
function parseTimestamp(text: string): DateTimeReading | undefined {
  const year = twoDigits(text, 0) * 100 + twoDigits(text, 2)
  const month = twoDigits(text, 5)
  const day = twoDigits(text, 8)
  const hour = twoDigits(text, 11)
  const minute = twoDigits(text, 14)
  if (text[4] !== '-' || text[7] !== '-' || !'Tt _'.includes(text.charAt(10)) || text[13] !== ':')
    return undefined
  // With a missing digit the number is NaN, which fails every comparison.
  if (!(year >= 0 && hour <= 23 && minute <= 59) || dateError(year, month, day) !== undefined)
    return undefined

  const hasSeconds = text[16] === ':'
  const second = hasSeconds ? twoDigits(text, 17) : 0
  if (!(second <= 59)) return undefined
  let end = hasSeconds ? 19 : 16
  let ms = 0
  if (hasSeconds && (text[end] === '.' || text[end] === ',')) {
    const start = ++end
    while (isDigit(text.charCodeAt(end))) end++
    if (end === start) return undefined
    ms = Number(text.slice(start, Math.min(end, start + 3)).padEnd(3, '0'))
  }
  const offsetMinutes = zoneOffset(text, end)
  if (offsetMinutes === 'invalid') return undefined
  if (offsetMinutes === 'none') return { type: 'timezone_aware' }
  if (year === 0) return { type: 'datetime_parsing', error: yearZero }
  // The calendar repeats every 400 years, and `Date.UTC` treats years below 100 as 19xx.
  const shifted = Date.UTC(year + 400, month - 1, day, hour, minute - offsetMinutes, second, ms)
  const epochMs = shifted - msIn400Years
  // The zone can move the first and the last day out of the calendar.
  if (epochMs < yearOneSecond * 1000) return { type: 'datetime_parsing', error: yearZero }
  if (epochMs >= (lastSecond + 1) * 1000)
    return { type: 'datetime_parsing', error: 'year 10000 is out of range' }
  return { epochMs }
}

const msIn400Years = 146_097 * 86_400_000
const yearZero = 'year 0 is out of range'

function twoDigits(text: string, at: number): number {
  const tens = text.charCodeAt(at)
  const ones = text.charCodeAt(at + 1)
  return isDigit(tens) && isDigit(ones) ? (tens - zero) * 10 + (ones - zero) : NaN
}

function isDigit(code: number): boolean {
  return code >= zero && code <= zero + 9
}

const zero = '0'.charCodeAt(0)

/** The UTC offset in minutes of the zone at the end of a text. */
function zoneOffset(text: string, at: number): number | 'none' | 'invalid' {
  if (at === text.length) return 'none'
  const sign = text[at]
  if (sign === 'Z' || sign === 'z') return at + 1 === text.length ? 0 : 'invalid'
  if (sign !== '+' && sign !== '-' && sign !== '\u2212') return 'invalid'
  const hours = twoDigits(text, at + 1)
  const minutesAt = text[at + 3] === ':' ? at + 4 : at + 3
  const minutes = twoDigits(text, minutesAt)
  if (!(hours <= 23 && minutes <= 59) || text.length !== minutesAt + 2) return 'invalid'
  return sign === '+' ? hours * 60 + minutes : -(hours * 60 + minutes)
}

function dateError(year: number, month: number, day: number): string | undefined {
  if (!(month >= 1 && month <= 12)) return 'month value is outside expected range of 1-12'
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  const days = month === 2 ? (leap ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31
  return day >= 1 && day <= days ? undefined : 'day value is outside expected range'
}

/** Seconds up to this value, milliseconds beyond. */
const watershed = 2e10
const firstSecond = -62_167_219_200 // 0000-01-01T00:00:00Z
const yearOneSecond = -62_135_596_800 // 0001-01-01T00:00:00Z
const lastSecond = 253_402_300_799 // 9999-12-31T23:59:59Z

function fromUnixTime(time: number): number | string {
  const inMs = Math.abs(time) > watershed
  const seconds = Math.floor(inMs ? Math.floor(time) / 1000 : time)
  if (seconds < firstSecond) return 'dates before 0000 are not supported as unix timestamps'
  if (!(seconds <= lastSecond)) return 'dates after 9999 are not supported as unix timestamps'
  if (seconds < yearOneSecond) return yearZero
  return Math.floor(inMs ? time : time * 1000)
}

function parseUnixTime(text: string): DateTimeReading | undefined {
  if (/^[+-]?\d+$/.test(text) && Math.abs(Number(text)) < 2 ** 63) {
    const moment = fromUnixTime(Number(text))
    // Integers are also parsed as dates, and that error is the one reported.
    return momentOr(moment === yearZero ? 'datetime_parsing' : 'datetime_from_date_parsing', moment)
  }
  if (/^[+-]?(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(text)) {
    const moment = fromUnixTime(Number(text))
    if (typeof moment === 'number') return { epochMs: moment }
  }
  return undefined
}

function momentOr(
  type: 'datetime_parsing' | 'datetime_from_date_parsing',
  moment: number | string,
): DateTimeReading {
  return typeof moment === 'number' ? { epochMs: moment } : { type, error: moment }
}

/** A date alone has no zone. For any other text, the error says where it stops being a date. */
function readDateOnly(text: string): DateTimeReading {
  const error = dateTextError(text)
  return error === undefined ? { type: 'timezone_aware' } : { type: 'datetime_from_date_parsing', error }
}

function dateTextError(text: string): string | undefined {
  if (Buffer.byteLength(text) < 10) return 'input is too short'
  if (!/^\d{4}/.test(text)) return 'invalid character in year'
  if (text[4] !== '-') return dateSeparator
  if (!/^\d\d/.test(text.slice(5))) return 'invalid character in month'
  if (text[7] !== '-') return dateSeparator
  if (!/^\d\d/.test(text.slice(8))) return 'invalid character in day'
  const error = dateError(Number(text.slice(0, 4)), Number(text.slice(5, 7)), Number(text.slice(8, 10)))
  if (error !== undefined) return error
  return text.length > 10 ? 'unexpected extra characters at the end of the input' : undefined
}

const dateSeparator = 'invalid date separator, expected `-`'

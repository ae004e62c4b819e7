import { refuse, refuseIllFormed, type Reader } from './refusal.ts'

/** The moment that an input stands for, or why it stands for none. */
export type DateTimeReading =
  | { readonly epochMs: number }
  | { readonly type: 'datetime_type' | 'timezone_aware' }
  | { readonly type: 'datetime_parsing' | 'datetime_from_date_parsing'; readonly error: string }

/** Reads timestamps with a zone and unix times; both are handed on as they came. */
export const dateTimeReader: Reader = (input) => {
  const reading = parseDateTime(input)
  if ('epochMs' in reading) return input
  if (typeof input === 'string' && !input.isWellFormed()) return refuseIllFormed(input)
  return 'error' in reading
    ? refuse(reading.type, input, { error: reading.error })
    : refuse(reading.type, input)
}

/**
 * The moment that an input stands for, in milliseconds since 1970, rounded down. Text is an ISO 8601
 * timestamp with its zone; numbers, as JSON or as text, are unix times: in seconds up to 2e10 either way
 * (the year 2603) and in milliseconds beyond.
 */
export function parseDateTime(input: unknown): DateTimeReading {
  if (typeof input === 'number') return momentOr('datetime_parsing', fromUnixTime(input))
  if (typeof input !== 'string') return { type: 'datetime_type' }
  return parseTimestamp(input) ?? parseUnixTime(input) ?? readDateOnly(input)
}

/** The moment of an input that a validator let through, as `parseDateTime` gives it. */
export function readDateTime(validated: unknown): number {
  const reading = parseDateTime(validated)
  if ('epochMs' in reading) return reading.epochMs
  throw new RangeError(`not a timestamp: ${JSON.stringify(validated)}`)
}

const timestampText =
  /^(\d{4})-(\d\d)-(\d\d)[Tt _](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,3})\d*)?)?(?:([Zz])|([+\-−])(\d\d):?(\d\d))?$/

function parseTimestamp(text: string): DateTimeReading | undefined {
  const match = timestampText.exec(text)
  if (!match) return undefined
  const [, year, month, day, hour, minute, second = '0', fraction = '', utc, sign, zoneHour, zoneMinute] =
    match
  if (dateFault(Number(year), Number(month), Number(day)) !== undefined) return undefined
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined
  const isAware = utc !== undefined || sign !== undefined
  const offsetMinutes = Number(zoneHour ?? 0) * 60 + Number(zoneMinute ?? 0)
  if (Number(zoneMinute ?? 0) > 59 || offsetMinutes >= minutesInDay) return undefined
  if (!isAware) return { type: 'timezone_aware' }
  if (year === '0000') return { type: 'datetime_parsing', error: yearZero }
  const localMs =
    epochMsOfDate(Number(year), Number(month), Number(day)) +
    ((Number(hour) * 60 + Number(minute)) * 60 + Number(second)) * 1000 +
    Number(fraction.padEnd(3, '0'))
  return { epochMs: localMs - (sign === '+' ? offsetMinutes : -offsetMinutes) * 60_000 }
}

const minutesInDay = 24 * 60
const yearZero = 'year 0 is out of range'

function epochMsOfDate(year: number, month: number, day: number): number {
  // `Date.UTC` takes the years 0 to 99 for the twentieth century.
  return new Date(0).setUTCFullYear(year, month - 1, day)
}

function dateFault(year: number, month: number, day: number): string | undefined {
  if (month < 1 || month > 12) return 'month value is outside expected range of 1-12'
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  const days = month === 2 ? (leap ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31
  return day < 1 || day > days ? 'day value is outside expected range' : undefined
}

/** Seconds up to here, milliseconds beyond. */
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
    // Whole numbers are tried as dates too, and it is that attempt which is reported.
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

/** A date alone has no zone; of any other text this says where it stops to be a date. */
function readDateOnly(text: string): DateTimeReading {
  const error = dateTextFault(text)
  return error === undefined ? { type: 'timezone_aware' } : { type: 'datetime_from_date_parsing', error }
}

function dateTextFault(text: string): string | undefined {
  if (Buffer.byteLength(text) < 10) return 'input is too short'
  if (!/^\d{4}/.test(text)) return 'invalid character in year'
  if (text[4] !== '-') return dateSeparator
  if (!/^\d\d/.test(text.slice(5))) return 'invalid character in month'
  if (text[7] !== '-') return dateSeparator
  if (!/^\d\d/.test(text.slice(8))) return 'invalid character in day'
  const fault = dateFault(Number(text.slice(0, 4)), Number(text.slice(5, 7)), Number(text.slice(8, 10)))
  if (fault !== undefined) return fault
  return text.length > 10 ? 'unexpected extra characters at the end of the input' : undefined
}

const dateSeparator = 'invalid date separator, expected `-`'

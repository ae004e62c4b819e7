import { isTimeZone } from '../../domain/time/calendar.ts'
import { refuse, refuseIllFormed, type Reader } from './refusal.ts'

/** Validates names of IANA time zones. */
export const timeZoneReader: Reader = (input) => {
  if (typeof input !== 'string') return refuse('string_type', input)
  if (!input.isWellFormed()) return refuseIllFormed(input)
  return isTimeZone(input)
    ? input
    : refuse('value_error', input, { error: 'value is not a time zone such as Europe/Berlin' })
}

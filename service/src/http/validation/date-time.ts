import { parseDateTime } from '../../domain/time/date-time.ts'
import { refuse, refuseIllFormed, type Reader } from './refusal.ts'

/** Validates timestamps with a zone, and Unix times; passes both on unchanged. */
export const dateTimeReader: Reader = (input) => {
  const reading = parseDateTime(input)
  if ('epochMs' in reading) return input
  if (typeof input === 'string' && !input.isWellFormed()) return refuseIllFormed(input)
  return 'error' in reading
    ? refuse(reading.type, input, { error: reading.error })
    : refuse(reading.type, input)
}

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { parseDateTime, readDateTime } from './date-time.ts'

test('a timestamp with a zone is an instant, rounded down to the millisecond', () => {
  const moments: [input: unknown, iso: string][] = [
    ['2099-01-01T00:00:00Z', '2099-01-01T00:00:00.000Z'],
    ['2099-01-01t00:00:00z', '2099-01-01T00:00:00.000Z'],
    ['2099-01-01 00:00Z', '2099-01-01T00:00:00.000Z'],
    ['2099-01-01_00:00:00,5Z', '2099-01-01T00:00:00.500Z'],
    ['2099-01-01T00:00:00.57Z', '2099-01-01T00:00:00.570Z'],
    ['2099-01-01T00:00:00.123999999999Z', '2099-01-01T00:00:00.123Z'],
    ['2099-01-01T00:00:00+02:30', '2098-12-31T21:30:00.000Z'],
    ['2099-01-01T00:00:00-0230', '2099-01-01T02:30:00.000Z'],
    ['2099-01-01T00:00:00−02:30', '2099-01-01T02:30:00.000Z'],
    ['2024-02-29T12:00:00Z', '2024-02-29T12:00:00.000Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
    ['0099-03-01T00:00:00Z', '0099-03-01T00:00:00.000Z'],
    ['9999-12-31T23:59:59.999999Z', '9999-12-31T23:59:59.999Z'],
  ]
  for (const [input, iso] of moments)
    assert.deepEqual(parseDateTime(input), { epochMs: Date.parse(iso) }, String(input))
})

test('a number is a Unix time: seconds up to 2e10, positive or negative, and milliseconds beyond', () => {
  const moments: [input: unknown, epochMs: number][] = [
    [0, 0],
    [1.5, 1500],
    [-1.5, -1500],
    [20_000_000_000, 20_000_000_000_000],
    [20_000_000_001, 20_000_000_001],
    [-20_000_000_001, -20_000_000_001],
    [253_402_300_799_999, 253_402_300_799_999],
    ['1700000000', 1_700_000_000_000],
    ['+1700000000.25', 1_700_000_000_250],
    ['1.', 1000],
    ['.5', 500],
    ['1.5e3', 1_500_000],
  ]
  for (const [input, epochMs] of moments) assert.deepEqual(parseDateTime(input), { epochMs }, String(input))
})

test('an invalid timestamp is refused with a reason', () => {
  const tooLate = 'dates after 9999 are not supported as unix timestamps'
  const tooEarly = 'dates before 0000 are not supported as unix timestamps'
  const extra = 'unexpected extra characters at the end of the input'
  const errors: [input: unknown, type: string, error?: string][] = [
    [null, 'datetime_type'],
    [true, 'datetime_type'],
    [{}, 'datetime_type'],
    ['2099-01-01', 'timezone_aware'],
    ['2099-01-01T00:00:00', 'timezone_aware'],
    ['0000-01-01T00:00:00Z', 'datetime_parsing', 'year 0 is out of range'],
    ['0000-12-31T23:59:59-00:01', 'datetime_parsing', 'year 0 is out of range'],
    [-62_135_596_800_001, 'datetime_parsing', 'year 0 is out of range'],
    ['0001-01-01T00:00:00+00:01', 'datetime_parsing', 'year 0 is out of range'],
    ['9999-12-31T23:59:59-00:01', 'datetime_parsing', 'year 10000 is out of range'],
    ['9999-12-31T23:59:59-2359', 'datetime_parsing', 'year 10000 is out of range'],
    [253_402_300_800_000, 'datetime_parsing', tooLate],
    [Infinity, 'datetime_parsing', tooLate],
    [-Infinity, 'datetime_parsing', tooEarly],
    ['253402300800000', 'datetime_from_date_parsing', tooLate],
    ['', 'datetime_from_date_parsing', 'input is too short'],
    ['2099-13-01T00:00Z', 'datetime_from_date_parsing', 'month value is outside expected range of 1-12'],
    ['2023-02-29T00:00Z', 'datetime_from_date_parsing', 'day value is outside expected range'],
    ['2100-02-29T00:00Z', 'datetime_from_date_parsing', 'day value is outside expected range'],
    ['2099-1x-01T00:00Z', 'datetime_from_date_parsing', 'invalid character in month'],
    ['2099-01-01T00:00:60Z', 'datetime_from_date_parsing', extra],
    ['2099-01-01T00:60Z', 'datetime_from_date_parsing', extra],
    ['2099-01-01T00:00:00.Z', 'datetime_from_date_parsing', extra],
    ['2099-01-01T00:00:00+24:00', 'datetime_from_date_parsing', extra],
    ['2099-01-01T00:00:00+01:60', 'datetime_from_date_parsing', extra],
    [' 2099-01-01T00:00Z', 'datetime_from_date_parsing', 'invalid character in year'],
    ['20990101T000000Z', 'datetime_from_date_parsing', 'invalid date separator, expected `-`'],
  ]
  for (const [input, type, error] of errors) {
    assert.deepEqual(parseDateTime(input), error === undefined ? { type } : { type, error }, String(input))
  }
})

test('a validated timestamp is converted to milliseconds, and any other is a bug', () => {
  assert.equal(readDateTime('1970-01-01T00:00:01Z'), 1000)
  assert.throws(() => readDateTime('soon'), RangeError)
})

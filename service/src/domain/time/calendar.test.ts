import assert from 'node:assert/strict'
import { test } from 'node:test'

import { calendarPeriodAt, isTimeZone, timeInWords, type CalendarWindow } from './calendar.ts'

const hourMs = 3_600_000

interface Case {
  readonly title: string
  readonly window: CalendarWindow
  readonly at: string
  readonly starts: string
  readonly ends: string
}

const berlin = { timeZone: 'Europe/Berlin' } as const

const cases: readonly Case[] = [
  {
    title: 'a day in winter',
    window: { calendar: 'day', ...berlin },
    at: '2026-01-15T22:59:59.999Z',
    starts: '2026-01-14T23:00:00Z',
    ends: '2026-01-15T23:00:00Z',
  },
  {
    title: 'a day starts at local midnight to the millisecond',
    window: { calendar: 'day', ...berlin },
    at: '2026-01-15T23:00:00.000Z',
    starts: '2026-01-15T23:00:00Z',
    ends: '2026-01-16T23:00:00Z',
  },
  {
    title: 'the day on which clocks go forward has 23 hours',
    window: { calendar: 'day', ...berlin },
    at: '2026-03-29T12:00:00Z',
    starts: '2026-03-28T23:00:00Z',
    ends: '2026-03-29T22:00:00Z',
  },
  {
    title: 'the day on which clocks go back has 25 hours',
    window: { calendar: 'day', ...berlin },
    at: '2026-10-25T00:30:00Z',
    starts: '2026-10-24T22:00:00Z',
    ends: '2026-10-25T23:00:00Z',
  },
  {
    title: 'the repeated hour belongs to the same day',
    window: { calendar: 'day', ...berlin },
    at: '2026-10-25T01:30:00Z',
    starts: '2026-10-24T22:00:00Z',
    ends: '2026-10-25T23:00:00Z',
  },
  {
    title: 'a day without midnight starts at its first instant',
    window: { calendar: 'day', timeZone: 'Africa/Cairo' },
    at: '2026-04-24T12:00:00Z',
    starts: '2026-04-23T22:00:00Z',
    ends: '2026-04-24T21:00:00Z',
  },
  {
    title: 'a day that ends where clocks go back to the hour before midnight',
    window: { calendar: 'day', timeZone: 'Africa/Cairo' },
    at: '2026-10-29T20:30:00Z',
    starts: '2026-10-28T21:00:00Z',
    ends: '2026-10-29T22:00:00Z',
  },
  {
    title: 'clocks that go back over midnight do not end the new day',
    window: { calendar: 'day', timeZone: 'America/St_Johns' },
    // On 2010-11-07 clocks went back from 00:01 to 23:01 of the day before.
    at: '2010-11-07T02:45:00Z',
    starts: '2010-11-07T02:30:00Z',
    ends: '2010-11-08T03:30:00Z',
  },
  {
    title: 'a skipped day',
    window: { calendar: 'day', timeZone: 'Pacific/Apia' },
    at: '2011-12-30T12:00:00Z',
    starts: '2011-12-30T10:00:00Z',
    ends: '2011-12-31T10:00:00Z',
  },
  {
    title: 'half-hour daylight saving time',
    window: { calendar: 'day', timeZone: 'Australia/Lord_Howe' },
    at: '2026-04-05T00:00:00Z',
    starts: '2026-04-04T13:00:00Z',
    ends: '2026-04-05T13:30:00Z',
  },
  {
    title: 'a zone west of UTC',
    window: { calendar: 'day', timeZone: 'America/New_York' },
    at: '2026-07-01T03:59:59Z',
    starts: '2026-06-30T04:00:00Z',
    ends: '2026-07-01T04:00:00Z',
  },
  {
    title: 'the zone furthest east',
    window: { calendar: 'day', timeZone: 'Pacific/Kiritimati' },
    at: '2026-07-01T10:00:00Z',
    starts: '2026-07-01T10:00:00Z',
    ends: '2026-07-02T10:00:00Z',
  },
  {
    title: 'a week starts on Monday',
    window: { calendar: 'week', timeZone: 'UTC' },
    at: '2026-11-24T12:00:00Z',
    starts: '2026-11-23T00:00:00Z',
    ends: '2026-11-30T00:00:00Z',
  },
  {
    title: 'a week that starts on Sunday',
    window: { calendar: 'week', timeZone: 'UTC', weekStart: 'sunday' },
    at: '2026-11-28T23:59:59Z',
    starts: '2026-11-22T00:00:00Z',
    ends: '2026-11-29T00:00:00Z',
  },
  {
    title: 'a week with a clock change',
    window: { calendar: 'week', ...berlin, weekStart: 'saturday' },
    at: '2026-03-30T00:00:00Z',
    starts: '2026-03-27T23:00:00Z',
    ends: '2026-04-03T22:00:00Z',
  },
  {
    title: 'a month',
    window: { calendar: 'month', timeZone: 'UTC' },
    at: '2026-02-28T23:59:59Z',
    starts: '2026-02-01T00:00:00Z',
    ends: '2026-03-01T00:00:00Z',
  },
  {
    title: 'a month from the 15th on, before the 15th',
    window: { calendar: 'month', timeZone: 'UTC', dayOfMonth: 15 },
    at: '2026-01-14T23:59:59Z',
    starts: '2025-12-15T00:00:00Z',
    ends: '2026-01-15T00:00:00Z',
  },
  {
    title: 'day 31 is the last day of February',
    window: { calendar: 'month', timeZone: 'UTC', dayOfMonth: 31 },
    at: '2026-02-28T00:00:00Z',
    starts: '2026-02-28T00:00:00Z',
    ends: '2026-03-31T00:00:00Z',
  },
  {
    title: 'day 31 in a leap year',
    window: { calendar: 'month', timeZone: 'UTC', dayOfMonth: 31 },
    at: '2028-02-28T12:00:00Z',
    starts: '2028-01-31T00:00:00Z',
    ends: '2028-02-29T00:00:00Z',
  },
  {
    title: 'day 30 after February',
    window: { calendar: 'month', timeZone: 'UTC', dayOfMonth: 30 },
    at: '2026-03-29T00:00:00Z',
    starts: '2026-02-28T00:00:00Z',
    ends: '2026-03-30T00:00:00Z',
  },
  {
    title: 'a year',
    window: { calendar: 'year', timeZone: 'Asia/Tokyo' },
    at: '2026-12-31T15:00:00Z',
    starts: '2026-12-31T15:00:00Z',
    ends: '2027-12-31T15:00:00Z',
  },
]

for (const { title, window, at, starts, ends } of cases) {
  test(`calendar periods: ${title}`, () => {
    const { startsAtMs, endsAtMs } = calendarPeriodAt(window, Date.parse(at))
    assert.deepEqual(
      [new Date(startsAtMs).toISOString(), new Date(endsAtMs).toISOString()],
      [new Date(starts).toISOString(), new Date(ends).toISOString()],
    )
  })
}

test('Periods follow each other without a gap in every time zone and for every unit', () => {
  const zones = [
    'Europe/Berlin',
    'Africa/Cairo',
    'America/Havana',
    'Pacific/Apia',
    'Asia/Beirut',
    'America/Nuuk',
  ]
  for (const timeZone of zones) {
    for (const calendar of ['day', 'week', 'month', 'year'] as const) {
      for (const dayOfMonth of calendar === 'month' ? [1, 29, 31] : [undefined]) {
        const window = { calendar, timeZone, dayOfMonth }
        let atMs = Date.UTC(2026, 0, 1)
        for (let step = 0; step < 400; step++) {
          const period = calendarPeriodAt(window, atMs)
          assert.ok(period.startsAtMs <= atMs && atMs < period.endsAtMs)
          assert.deepEqual(calendarPeriodAt(window, period.endsAtMs - 1), period)
          assert.equal(calendarPeriodAt(window, period.endsAtMs).startsAtMs, period.endsAtMs)
          if (calendar === 'day') assert.ok(period.endsAtMs - period.startsAtMs >= 23 * hourMs)
          atMs = period.endsAtMs
        }
      }
    }
  }
})

test('Only IANA names are time zones', () => {
  for (const name of ['UTC', 'Europe/Berlin', 'America/Argentina/Buenos_Aires'])
    assert.ok(isTimeZone(name), name)
  for (const name of ['', 'Mars/Olympus', '+01:00', 'Europe/Berlin\0']) assert.ok(!isTimeZone(name), name)
})

test('A time for people has the clock of its zone, and is never earlier than the time itself', () => {
  const rows = [
    ['2026-11-20T23:00:00.000Z', 'Europe/Berlin', '21 Nov 2026, 00:00 (Europe/Berlin)'],
    ['2026-07-01T04:00:00.000Z', 'America/New_York', '1 Jul 2026, 00:00 (America/New_York)'],
    ['2026-12-31T18:15:00.000Z', 'Asia/Kathmandu', '1 Jan 2027, 00:00 (Asia/Kathmandu)'],
    ['2026-11-20T12:05:00.000Z', undefined, '20 Nov 2026, 12:05 (UTC)'],
    ['2026-11-20T12:05:07.000Z', undefined, '20 Nov 2026, 12:05:07 (UTC)'],
    ['2026-11-20T12:04:59.001Z', undefined, '20 Nov 2026, 12:05 (UTC)'],
  ] as const
  for (const [at, timeZone, words] of rows) assert.equal(timeInWords(Date.parse(at), timeZone), words)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { commonWidth, spendingPeriods, type SpendingPeriod } from './spending-periods.ts'

const hourMs = 3_600_000

const rows: readonly {
  readonly title: string
  readonly period: SpendingPeriod
  readonly timeZone: string
  readonly now: string
  readonly buckets: number
  readonly starts: string
  readonly ends: string
  readonly previous: readonly [starts: string, ends: string]
}[] = [
  {
    title: '24 hours end with the current quarter of an hour',
    period: '24h',
    timeZone: 'Europe/Berlin',
    now: '2026-11-24T12:20:00Z',
    buckets: 24,
    starts: '2026-11-23T12:30:00Z',
    ends: '2026-11-24T12:30:00Z',
    previous: ['2026-11-22T12:30:00Z', '2026-11-23T12:30:00Z'],
  },
  {
    title:
      'Seven days are today and six days before, in local time, and the previous period ends at the same time of day',
    period: '7d',
    timeZone: 'Asia/Kathmandu',
    now: '2026-11-24T12:20:00Z',
    buckets: 7,
    starts: '2026-11-17T18:15:00Z',
    ends: '2026-11-24T12:30:00Z',
    previous: ['2026-11-10T18:15:00Z', '2026-11-17T12:30:00Z'],
  },
  {
    title: 'Thirty days with a clock change',
    period: '30d',
    timeZone: 'Europe/Berlin',
    now: '2026-11-10T11:00:00Z',
    buckets: 30,
    starts: '2026-10-11T22:00:00Z',
    ends: '2026-11-10T11:15:00Z',
    previous: ['2026-09-11T22:00:00Z', '2026-10-11T10:15:00Z'],
  },
  {
    title: 'On a shorter previous day, the same time is at most the end of that day',
    period: '7d',
    timeZone: 'Europe/Berlin',
    now: '2026-04-05T21:50:00Z',
    buckets: 7,
    starts: '2026-03-29T22:00:00Z',
    ends: '2026-04-05T22:00:00Z',
    previous: ['2026-03-22T23:00:00Z', '2026-03-29T22:00:00Z'],
  },
]

for (const { title, period, timeZone, now, buckets, starts, ends, previous } of rows) {
  test(title, () => {
    const { startsMs, previousMs } = spendingPeriods(period, { nowMs: Date.parse(now), timeZone })
    assert.deepEqual(
      [startsMs, previousMs].map((times) => [times.length - 1, times[0], times.at(-1)]),
      [
        [buckets, Date.parse(starts), Date.parse(ends)],
        [buckets, ...previous.map((time) => Date.parse(time))],
      ],
    )
  })
}

test('Sums are read in buckets as wide as the times allow', () => {
  assert.equal(commonWidth([5, 5 + 24 * hourMs, 5 + 48 * hourMs]), 24 * hourMs)
  // A day of 23 hours.
  assert.equal(commonWidth([0, 24 * hourMs, 47 * hourMs]), hourMs)
})

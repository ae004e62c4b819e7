import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { LimitUsage, NewLimit } from '@purser/client'

import { fillOf, limitInWords, limitName, resetInWords } from './limits.ts'

const berlin = { calendar: 'day', time_zone: 'Europe/Berlin' } as const

test('A limit is described in words, with its window and time zone', () => {
  const rows: [NewLimit, string][] = [
    [{ window: berlin, max_amount: '20' }, 'at most 20.00 USDC in a day (Europe/Berlin)'],
    [
      { window: { calendar: 'week', time_zone: 'UTC', week_start: 'sunday' }, max_count: 1, per: 'seller' },
      'at most 1 payment in a week from Sunday (UTC) for each seller',
    ],
    [
      {
        window: { calendar: 'month', time_zone: 'UTC', day_of_month: 15 },
        max_amount: '1000.00',
        max_count: 40,
      },
      'at most 1,000.00 USDC and 40 payments in a month from day 15 (UTC)',
    ],
    [{ window: { rolling_seconds: 86_400 }, max_count: 5 }, 'at most 5 payments in any 24 hours'],
    [{ window: { rolling_seconds: 3_600 }, max_count: 5 }, 'at most 5 payments in any hour'],
    [{ window: { rolling_seconds: 5_400 }, max_count: 5 }, 'at most 5 payments in any 90 minutes'],
    [
      { window: 'lifetime', max_amount: '9.00', per: 'resource' },
      'at most 9.00 USDC in the lifetime for each URL',
    ],
  ]
  for (const [limit, words] of rows) assert.equal(limitInWords(limit), words)
  assert.equal(limitName({ window: berlin, per: 'seller' }), 'Daily limit for each seller')
})

test('The time of a reset is shown in the time zone of the limit', () => {
  assert.equal(resetInWords('2026-11-24T23:00:00Z', berlin), 'resets 25 Nov 2026, 00:00 (Europe/Berlin)')
  assert.match(
    resetInWords('2026-11-24T23:00:00Z', { rolling_seconds: 60 }),
    /^has more room .*2026, .* \(.+\)$/,
  )
  assert.equal(resetInWords(null, { rolling_seconds: 60 }), 'nothing counts yet')
  assert.equal(resetInWords(null, 'lifetime'), 'never resets')
})

test('A limit on amount and count is as full as whichever is closer to its maximum', () => {
  const usage: LimitUsage = {
    limit_id: 'limit_1',
    scope: 'mandate',
    scope_id: 'mandate_1',
    period_starts_at: null,
    resets_at: null,
    committed: '5.00',
    count: 3,
    max_amount: '20.00',
    max_count: 4,
  }
  assert.equal(fillOf(usage), 0.75)
  assert.equal(fillOf({ ...usage, max_count: null }), 0.25)
  assert.equal(fillOf({ ...usage, committed: '30.00' }), 1)
  assert.equal(fillOf({ ...usage, committed: null, count: null }), undefined)
})

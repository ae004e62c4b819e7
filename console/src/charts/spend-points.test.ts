import assert from 'node:assert/strict'
import { test } from 'node:test'

import { spendPoints } from './spend-points.ts'

test('What was spent goes down with a refund, and ends at what the mandate has spent', () => {
  const counts = { paid_count: 1, refunded_count: 1, approved_count: 0, denied_count: 0 }
  const bucket = (day: number, paid_total: string, refunded_total: string) => ({
    ...counts,
    starts_at: new Date(day).toISOString(),
    paid_total,
    refunded_total,
  })
  const spend = {
    mandate_id: 'mandate_1',
    step: 'day' as const,
    spent_before: '2.00',
    buckets: [bucket(1, '4.00', '1.50'), bucket(2, '0.00', '2.00'), bucket(9, '0.00', '0.00')],
  }
  assert.deepEqual(
    spendPoints(spend, 3).map(({ atMs, spent }) => [atMs, spent]),
    [
      [1, '2.00'],
      [1, '4.50'],
      [2, '4.50'],
      [2, '2.50'],
      [3, '2.50'],
    ],
  )
})

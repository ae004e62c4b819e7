import assert from 'node:assert/strict'
import { test } from 'node:test'

import { seriesOf, stackOf } from './money-series.ts'

const bucket = {
  starts_at: '',
  ends_at: '',
  spent: '5.00',
  paid_count: 1,
  paid_total: '5.00',
  refunded_count: 0,
  refunded_total: '0.00',
  denied_count: 0,
}

test('A chart has one series, or one for each part and one for the rest', () => {
  const buckets = [bucket]
  assert.deepEqual(
    seriesOf({ buckets, split: null }).map(({ name, amounts }) => [name, ...amounts]),
    [['Spent', '5.00']],
  )
  const part = { subject: 'agent_1', name: '', spent: '3.00', buckets: ['3.00'] }
  const rest = { spent: '2.00', buckets: ['2.00'] }
  assert.deepEqual(
    seriesOf({ buckets, split: { by: 'agent', parts: [part], rest } }).map(({ name, amounts }) => [
      name,
      ...amounts,
    ]),
    [
      ['Unnamed agent', '3.00'],
      ['All others', '2.00'],
    ],
  )
  const none = { spent: '0.00', buckets: ['0.00'] }
  assert.deepEqual(
    seriesOf({ buckets, split: { by: 'category', parts: [{ ...part, subject: 'data' }], rest: none } }).map(
      ({ name }) => name,
    ),
    ['data'],
  )
})

test('Spending is stacked upward from zero, and refunds that exceed it downward', () => {
  assert.deepEqual(stackOf([3, -1, 2, -4]), {
    pieces: [
      { from: 0, to: 3 },
      { from: -1, to: 0 },
      { from: 3, to: 5 },
      { from: -5, to: -1 },
    ],
    top: 5,
    bottom: -5,
  })
})

import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { Budget, Limit } from '@purser/client'

import { inTreeOrder } from './budget-tree.ts'
import { overbookedIn } from './overbooked.ts'

const month = { calendar: 'month', time_zone: 'UTC' } as const

function budget(id: string, maxes: readonly (string | null)[], parent_id: string | null = null): Budget {
  return {
    id,
    name: id,
    parent_id,
    limits: maxes.map((max_amount, index): Limit => ({
      id: `${id}_${index}`,
      window: index === 0 ? month : 'lifetime',
      max_amount,
      max_count: null,
      per: null,
      action: 'deny',
    })),
    frozen_at: null,
    version: 1,
    created_at: '2026-11-20T12:00:00Z',
    updated_at: '2026-11-20T12:00:00Z',
  }
}

test('Budgets that add up to more than their parent are reported, by window', () => {
  const parent = budget('company', ['100.00', '1000.00'])
  const sums = (...children: Budget[]) =>
    overbookedIn(parent, children).map(({ limit, sum }) => [limit.id, sum])
  assert.deepEqual(sums(), [])
  assert.deepEqual(sums(budget('a', ['60.00']), budget('b', ['40.00'])), [])
  assert.deepEqual(sums(budget('a', ['60.00']), budget('b', ['40.01', '10.00'])), [['company_0', '100.01']])
  assert.deepEqual(sums(budget('a', [null, '1000.01'])), [['company_1', '1000.01']])
})

test('Each budget is listed below its parent, by name, and those without a known parent at the top', () => {
  const budgets = [budget('b', []), budget('c', [], 'a'), budget('a', []), budget('d', [], 'gone')]
  assert.deepEqual(
    inTreeOrder(budgets).map(({ budget: { id }, level }) => [id, level]),
    [
      ['a', 0],
      ['c', 1],
      ['b', 0],
      ['d', 0],
    ],
  )
})

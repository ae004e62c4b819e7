import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { NamedTransaction } from '@purser/client'

import { foldPurchases, openPurchases } from './folding.ts'

const model: NamedTransaction = {
  id: 'txn_0',
  status: 'approved',
  agent_id: 'agent_1',
  agent_name: 'ada',
  mandate_id: 'mandate_1',
  mandate_purpose: 'Papers',
  amount: '1.50',
  currency: 'USDC',
  resource_url: 'https://api.example.com/a',
  merchant_domain: 'api.example.com',
  seller_id: null,
  seller_name: null,
  category: null,
  reason_code: null,
  reason_detail: null,
  refund_of: null,
  refunded_total: null,
  order_id: null,
  created_at: '2026-11-20T12:00:00Z',
  mandate_version: 1,
  metadata: {},
}

let count = 0
function at(
  seconds: number,
  status: 'approved' | 'paid' | 'denied',
  changes: Partial<NamedTransaction> = {},
) {
  const created_at = new Date(Date.UTC(2026, 10, 20, 12, 0, seconds)).toISOString()
  return { ...model, id: `txn_${++count}`, status, created_at, ...changes }
}

/** What became of transactions, given oldest first: each row, and the approval in it. */
function folded(...oldestFirst: NamedTransaction[]): (string | string[])[] {
  const rows = foldPurchases(oldestFirst.toReversed())
  return rows.map(({ id, approval }) => (approval ? [id, approval.id] : id))
}

test('An approval and the payment of the same purchase share one row, the oldest with the oldest', () => {
  const [first, second] = [at(0, 'approved'), at(1, 'approved')]
  const [paid, late] = [at(5, 'paid', { amount: '1.5' }), at(9, 'paid')]
  assert.deepEqual(folded(first, second, paid, late), [
    [late.id, second.id],
    [paid.id, first.id],
  ])
  assert.deepEqual(folded(first, paid, late), [late.id, [paid.id, first.id]], 'a payment without one')
  assert.deepEqual(folded(first, second, paid), [[paid.id, first.id], second.id], 'an approval without one')
})

test('An approval and a payment of different purchases keep separate rows', () => {
  const approval = at(0, 'approved')
  for (const changes of [
    { agent_id: 'agent_2' },
    { mandate_id: 'mandate_2' },
    { amount: '1.51' },
    { resource_url: 'https://api.example.com/b' },
    { merchant_domain: 'other.example.com' },
  ]) {
    const paid = at(5, 'paid', changes)
    assert.deepEqual(folded(approval, paid), [paid.id, approval.id], JSON.stringify(changes))
  }
  const [early, tooLate, inTime] = [at(-1, 'paid'), at(601, 'paid'), at(600, 'paid')]
  assert.deepEqual(folded(early, approval), [approval.id, early.id], 'paid before it was approved')
  assert.deepEqual(folded(approval, tooLate), [tooLate.id, approval.id])
  assert.deepEqual(folded(approval, inTime), [[inTime.id, approval.id]])
  const denied = at(0, 'denied')
  assert.deepEqual(folded(denied, at(5, 'denied', { id: 'x' })), ['x', denied.id])
})

test('An expanded row shows both', () => {
  const [approval, paid] = [at(0, 'approved'), at(5, 'paid')]
  const rows = foldPurchases([paid, approval])
  assert.deepEqual(
    openPurchases(rows, new Set([paid.id])).map(({ id }) => id),
    [paid.id, approval.id],
  )
  assert.equal(openPurchases(rows, new Set()).length, 1)
})

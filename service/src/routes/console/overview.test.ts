import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Purser } from '@purser/client'

import { issueProof, preparePurchase, testStartMs, verifyProof } from '../../../testing/service.ts'
import { shareTestService } from '../../../testing/shared-service.ts'

const dayMs = 24 * 3_600_000

test('What a mandate spent in a day, and when its budget runs out at that rate, deducts refunds', async () => {
  const service = await shareTestService()
  const purser = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url })
  const purchase = await preparePurchase(service)
  const { body } = await verifyProof(service, await issueProof(service, purchase, '8.00'))
  await purser.transactions.refund(body.transaction_id, { amount: '3.00' })
  const lastDay = async () => {
    const [budget] = (await purser.console.overview()).nearest_budgets
    return [budget?.remaining_budget, budget?.spent_last_day, budget?.exhausted_at]
  }
  assert.deepEqual(await lastDay(), ['95.00', '5.00', new Date(testStartMs + 19 * dayMs).toISOString()])
  // A refund two days later is not spending at all.
  service.clock.nowMs += 2 * dayMs
  await purser.transactions.refund(body.transaction_id, { amount: '1.00' })
  assert.deepEqual(await lastDay(), ['96.00', '-1.00', null])
})

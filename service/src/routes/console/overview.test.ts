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

test('Today begins at midnight of the time zone, also after a test clock has passed the start of summer time', async () => {
  const service = await shareTestService()
  const purser = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url })
  const purchase = await preparePurchase(service)
  const today = async () => {
    const figures = await purser.console.overview({ time_zone: 'Europe/Berlin' })
    return [figures.spent_today, figures.paid_today, figures.day_starts_at]
  }
  await verifyProof(service, await issueProof(service, purchase, '1.00'))
  assert.deepEqual(await today(), ['1.00', 1, '2026-11-19T23:00:00.000Z'])
  await purser.testClock.advance((Date.UTC(2027, 5, 9, 21) - testStartMs) / 1_000)
  await verifyProof(service, await issueProof(service, purchase, '2.00'))
  assert.deepEqual(await today(), ['2.00', 1, '2027-06-08T22:00:00.000Z'])
  await purser.testClock.advance(3_600)
  assert.deepEqual(await today(), ['0.00', 0, '2027-06-09T22:00:00.000Z'])
})

test('A full limit over time is counted and named, of a mandate and of a shared budget, until it resets', async () => {
  const service = await shareTestService()
  const purser = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url })
  const window = { calendar: 'day', time_zone: 'UTC' }
  const budget = await purser.budgets.create({
    name: 'Team',
    limits: [{ window: { calendar: 'day', time_zone: 'UTC' }, max_count: 2 }],
  })
  const limits = [{ window, max_amount: '5.00' }]
  const purchase = await preparePurchase(service, { limits, budget_id: budget.id })
  const other = await preparePurchase(service, { limits: [{ ...limits[0], action: 'notify' }] })
  const full = async () => {
    const { mandates, budgets, named } = (await purser.console.overview()).full_limits
    return [mandates, budgets, ...named.map(({ scope, id, name }) => `${scope} ${id} ${name}`)]
  }
  await issueProof(service, purchase, '4.99')
  await issueProof(service, other, '5.00')
  assert.deepEqual(await full(), [0, 0])
  await issueProof(service, purchase, '0.01')
  assert.deepEqual(await full(), [
    1,
    1,
    `budget ${budget.id} Team`,
    `mandate ${purchase.mandateId} Buy research data`,
  ])
  await purser.budgets.freeze(budget.id)
  assert.equal((await full())[1], 0)
  service.clock.nowMs += dayMs
  assert.deepEqual(await full(), [0, 0])
})

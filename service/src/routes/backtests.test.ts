import assert from 'node:assert/strict'
import { after, test } from 'node:test'

import { Purser } from '@purser/client'

import { changingNothing } from '../../testing/ledger.ts'
import { evaluate, pay } from '../../testing/purchases.ts'
import { createTenant, issueKey, preparePurchase, startTestService } from '../../testing/service.ts'

const service = await startTestService({ after })
const purser = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url })
const purchase = await preparePurchase(service, { max_spend_total: '20.00' })
await pay(service, purchase, '4.00')
service.clock.nowMs += 60_000
await pay(service, purchase, '1.00')
await evaluate(service, purchase, { amount: '11.00' })
service.clock.nowMs += 60_000

const path = `/v1/mandates/${purchase.mandateId}/backtests`

test('A back-test reports what a draft would have decided differently, and changes nothing', async () => {
  const draft = { max_spend_per_transaction: '2.00', allowed_resources: ['https://api.example.com/*'] }
  const report = await changingNothing(service, () => purser.mandates.backtest(purchase.mandateId, { draft }))
  const { examples, ...toDenied } = report.to_denied
  assert.deepEqual(toDenied, {
    evaluations: 0,
    payments: 1,
    amount: '4.00',
    by_check: [
      {
        check: '8',
        reason_code: 'amount_exceeds_per_transaction_limit',
        evaluations: 0,
        payments: 1,
        amount: '4.00',
      },
    ],
  })
  const [example] = examples
  assert.deepEqual(
    [example?.kind, example?.amount, example?.merchant_domain, example?.created_at],
    ['payment', '4.00', 'api.example.com', '2026-11-20T12:00:00.000Z'],
  )
  assert.deepEqual(example?.recorded, {
    decision: 'approved',
    reason_code: 'within_policy',
    reason_detail: null,
  })
  assert.deepEqual(example?.drafted, {
    decision: 'denied',
    reason_code: 'amount_exceeds_per_transaction_limit',
    reason_detail: '4.00 > 2.00, the limit per payment.',
  })
  const { judged, to_approved, not_judged, is_complete } = report
  assert.deepEqual([judged, to_approved.payments, not_judged, is_complete], [3, 0, [], true])
})

test('Check 6a is named, and a wider draft approves what was denied', async () => {
  const draft = { allowed_resources: ['https://api.example.com/other'] }
  const narrow = await purser.mandates.backtest(purchase.mandateId, { draft })
  assert.deepEqual(
    narrow.to_denied.by_check.map(({ check, reason_code, payments, amount }) => [
      check,
      reason_code,
      payments,
      amount,
    ]),
    [['6a', 'resource_not_allowed', 2, '5.00']],
  )
  const wide = await purser.mandates.backtest(purchase.mandateId, {
    draft: { max_spend_per_transaction: '11.00' },
  })
  assert.deepEqual([wide.to_approved.evaluations, wide.to_approved.amount], [1, '0.00'])
})

test('A draft can have limits over time, which count what was paid in their window', async () => {
  const daily = { window: { calendar: 'day', time_zone: 'UTC' }, max_amount: '4.50' } as const
  const { to_denied } = await purser.mandates.backtest(purchase.mandateId, { draft: { limits: [daily] } })
  assert.deepEqual(
    to_denied.by_check.map(({ check, reason_code, payments, amount }) => [
      check,
      reason_code,
      payments,
      amount,
    ]),
    [['10', 'velocity_limit_exceeded', 1, '1.00']],
  )
  const empty = { window: daily.window }
  const answer = await service.call('POST', path, { body: { draft: { limits: [empty] } } })
  assert.equal(answer.status, 422)
  assert.deepEqual(answer.body.detail[0].loc, ['body', 'draft', 'limits', 0, 'max_amount'])
})

test('Only the range is judged; it must not be empty', async () => {
  const from = '2026-11-20T12:00:30Z'
  const { judged } = await purser.mandates.backtest(purchase.mandateId, { draft: {}, from })
  assert.equal(judged, 2)
  for (const to of [from, '2026-11-20T12:00:29Z']) {
    const answer = await service.call('POST', path, { body: { draft: {}, from, to } })
    assert.equal(answer.status, 422)
    assert.deepEqual(answer.body.detail[0].loc, ['body', 'to'])
  }
})

test('A draft is validated like an amendment', async () => {
  const answer = await service.call('POST', path, { body: { draft: { allowed_resources: ['reports'] } } })
  assert.equal(answer.status, 422)
  assert.deepEqual(answer.body.detail[0].loc, ['body', 'draft', 'allowed_resources', 0])
})

test('Only owners of the account may back-test a mandate', async () => {
  const body = { draft: {} }
  const tenant = await createTenant(service)
  assert.equal((await service.call('POST', path, { key: tenant.sandboxKey, body })).status, 404)
  assert.equal((await service.call('POST', path, { key: service.productionKey, body })).status, 404)
  const agentKey = await issueKey(service, { role: 'agent', agent_id: purchase.agentId })
  assert.equal((await service.call('POST', path, { key: agentKey, body })).status, 403)
})

test('A back-test reproduces the payments under a daily limit after the agent has left a frozen budget', async () => {
  const daily = { window: { calendar: 'day', time_zone: 'UTC' }, max_amount: '5.00' } as const
  const limited = await preparePurchase(service, { limits: [daily] })
  for (let day = 0; day < 4; day++) {
    await pay(service, limited, '5.00')
    service.clock.nowMs += 86_400_000
  }
  const { id } = await purser.budgets.create({ name: 'Frozen', limits: [] })
  await purser.agents.update(limited.agentId, { budget_id: id })
  await purser.budgets.freeze(id)
  await purser.agents.update(limited.agentId, { budget_id: null })
  const backtest = (draft: object) => purser.mandates.backtest(limited.mandateId, { draft })
  const own = await backtest({})
  assert.deepEqual([own.judged, own.not_judged], [4, []])
  const wider = await backtest({ limits: [{ ...daily, max_amount: '6.00' }] })
  assert.deepEqual([wider.judged, wider.to_denied.payments], [4, 0])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { assertLedgerAddsUp } from '../../testing/ledger.ts'
import {
  askForProof,
  issueKey,
  issueProof,
  preparePurchase,
  verifyProof,
  type Purchase,
  type TestService,
  startTestService,
} from '../../testing/service.ts'
import { shareTestService } from '../../testing/shared-service.ts'

const daily = { calendar: 'day', time_zone: 'Europe/Berlin' }
const dayMs = 24 * 3_600_000

function amend(service: TestService, { mandateId }: Purchase, version: number, body: unknown, key?: string) {
  const headers = { 'if-match': `"${version}"` }
  return service.call('PATCH', `/v1/mandates/${mandateId}`, { body, headers, ...(key && { key }) })
}

/** One payment the day before, and today one charged, one open, one voided, and one partly refunded. */
async function buySome(service: TestService, purchase: Purchase): Promise<void> {
  await verifyProof(service, await issueProof(service, purchase, '5.00'))
  service.clock.nowMs += dayMs
  await verifyProof(service, await issueProof(service, purchase, '2.00'))
  const voided = await issueProof(service, purchase, '1.00')
  await service.call('POST', `/v1/payments/proofs/${voided.nonce}/void`)
  const { body } = await verifyProof(service, await issueProof(service, purchase, '4.00'))
  const refund = await service.call('POST', `/v1/transactions/${body.transaction_id}/refund`, {
    body: { amount: '1.50' },
    headers: { 'idempotency-key': 'refund-1' },
  })
  assert.equal(refund.status, 201, refund.text)
  await issueProof(service, purchase, '3.00')
}

test('A limit added to a mandate counts what was committed in its current period', async (t) => {
  const service = await startTestService(t)
  const purchase = await preparePurchase(service)
  await buySome(service, purchase)
  const added = await amend(service, purchase, 1, {
    limits: [
      { window: daily, max_amount: '9.00' },
      { window: 'lifetime', max_count: 9, action: 'notify' },
      { window: { rolling_seconds: 7_200 }, max_amount: '20.00' },
      { window: daily, max_amount: '8.00', per: 'seller' },
    ],
  })
  assert.equal(added.status, 200, added.text)
  const { body } = await service.call('GET', `/mandates/${purchase.mandateId}`)
  assert.deepEqual(
    body.usage.map(({ committed, count }: { committed: string; count: number }) => [committed, count]),
    // 2.00 and 3.00, and 4.00 without the refund.
    [
      ['7.50', 3],
      ['12.50', 4],
      ['7.50', 3],
      [null, null],
    ],
  )
  assert.equal((await askForProof(service, purchase, '1.00')).body.limit.max, '8.00')
  assert.equal((await askForProof(service, purchase, '0.50')).status, 201)
  // Open proofs that end release what the limits counted.
  await amend(service, purchase, 2, { end_holds: true, purpose: 'Something else' })
  assert.equal((await askForProof(service, purchase, '3.50')).status, 201)
  assert.equal((await askForProof(service, purchase, '0.50')).status, 402)
  await assertLedgerAddsUp(service)
})

test('The agent of a mandate can add and lower its limits; only an owner can raise or remove them', async () => {
  const service = await shareTestService()
  const purchase = await preparePurchase(service, { limits: [{ window: daily, max_amount: '5.00' }] })
  const key = await issueKey(service, { role: 'agent', agent_id: purchase.agentId })
  const limits = [
    { window: daily, max_amount: '4.00' },
    { window: 'lifetime', max_count: 9 },
  ]
  const { body: before } = await service.call('GET', `/mandates/${purchase.mandateId}`)
  const lowered = await amend(service, purchase, 1, { limits }, key)
  assert.equal(lowered.status, 200, lowered.text)
  assert.equal(lowered.body.limits[0].id, before.limits[0].id)
  const again = await amend(service, purchase, 1, { limits }, key)
  assert.deepEqual([again.status, again.body.version], [200, 2])
  for (const wider of [[], [limits[0]], [{ ...limits[0], max_amount: '4.01' }, limits[1]]]) {
    const refused = await amend(service, purchase, 2, { limits: wider }, key)
    assert.deepEqual([refused.status, refused.body], [403, { detail: 'widening_needs_owner' }])
  }
  const removed = await amend(service, purchase, 2, { limits: [] })
  assert.deepEqual([removed.status, removed.body.limits], [200, []])
  const { body: versions } = await service.call('GET', `/v1/mandates/${purchase.mandateId}/versions`)
  assert.deepEqual(
    versions.map((one: { limits: unknown[] }) => one.limits.length),
    [0, 2, 1],
  )
  const faulty = await amend(service, purchase, 3, { limits: [{ window: daily }] })
  assert.equal(faulty.status, 422)
})

test('A mandate moves to a shared budget, which counts its payments from then on', async (t) => {
  const service = await startTestService(t)
  const purchase = await preparePurchase(service)
  await issueProof(service, purchase, '2.00')
  const { body: budget } = await service.call('POST', '/v1/budgets', {
    body: { name: 'Team', limits: [{ window: daily, max_amount: '5.00' }] },
  })
  const key = await issueKey(service, { role: 'agent', agent_id: purchase.agentId })
  const byAgent = await amend(service, purchase, 1, { budget_id: budget.id }, key)
  assert.equal(byAgent.body.detail, 'widening_needs_owner')
  const unknown = await amend(service, purchase, 1, { budget_id: 'budget_01jd0000000000000000000000' })
  assert.deepEqual([unknown.status, unknown.body], [404, { detail: 'budget_not_found' }])
  const moved = await amend(service, purchase, 1, { budget_id: budget.id })
  assert.deepEqual([moved.status, moved.body.budget_id], [200, budget.id])
  await issueProof(service, purchase, '4.00')
  assert.equal((await askForProof(service, purchase, '1.50')).body.reason_code, 'shared_budget_exceeded')
  await amend(service, purchase, 2, { budget_id: null })
  assert.equal((await askForProof(service, purchase, '1.50')).status, 201)
  await assertLedgerAddsUp(service)
})

test('A limit added to a shared budget counts what all mandates below it have committed in its current period', async (t) => {
  const service = await startTestService(t)
  const { body: budget } = await service.call('POST', '/v1/budgets', { body: { name: 'Team', limits: [] } })
  const other = await preparePurchase(service)
  await issueProof(service, other, '9.00')
  const first = await preparePurchase(service, { budget_id: budget.id })
  await buySome(service, first)
  const second = await preparePurchase(service, { budget_id: budget.id })
  await issueProof(service, second, '1.00')
  const limits = [
    { window: daily, max_amount: '10.00' },
    { window: 'lifetime', max_count: 6 },
  ]
  const added = await service.call('PATCH', `/v1/budgets/${budget.id}`, {
    body: { limits },
    headers: { 'if-match': '"1"' },
  })
  assert.equal(added.status, 200, added.text)
  const { body } = await service.call('GET', `/v1/budgets/${budget.id}`)
  assert.deepEqual(
    body.usage.map(({ committed, count }: { committed: string; count: number }) => [committed, count]),
    [
      ['8.50', 4],
      ['13.50', 5],
    ],
  )
  assert.equal((await askForProof(service, second, '2.00')).status, 402)
  // The open amounts of a paused mandate are released.
  await service.call('PATCH', `/mandates/${first.mandateId}/pause`)
  assert.equal((await askForProof(service, second, '3.50')).status, 201)
  await assertLedgerAddsUp(service)
})

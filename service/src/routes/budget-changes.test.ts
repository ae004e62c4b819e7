import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'

import {
  askForProof,
  issueKey,
  issueProof,
  preparePurchase,
  verifyProof,
  type TestService,
} from '../../testing/service.ts'
import { shareTestService } from '../../testing/shared-service.ts'

const daily = { calendar: 'day', time_zone: 'Europe/Berlin' }
const rolling = { rolling_seconds: 3_600 }

async function createBudget(service: TestService, limits: readonly unknown[]) {
  const { body } = await service.call('POST', '/v1/budgets', { body: { name: 'Team', limits } })
  return body as { readonly id: string; readonly limits: readonly { readonly id: string }[] }
}

function change(service: TestService, id: string, version: number | null, body: unknown) {
  const headers: Record<string, string> = version === null ? {} : { 'if-match': `"${version}"` }
  return service.call('PATCH', `/v1/budgets/${id}`, { body, headers })
}

test('PATCH /v1/budgets/{id} changes name and limits at once, and a limit over the same window keeps its counts', async () => {
  const service = await shareTestService()
  const budget = await createBudget(service, [{ window: daily, max_amount: '5.00' }])
  const purchase = await preparePurchase(service, { budget_id: budget.id })
  await issueProof(service, purchase, '2.00')
  const read = await service.call('GET', `/v1/budgets/${budget.id}`)
  assert.equal(read.headers.get('etag'), '"1"')
  service.clock.nowMs += 1_000
  const limits = [
    { window: rolling, max_count: 9 },
    { window: daily, max_amount: '3.00', action: 'deny' },
  ]
  const changed = await change(service, budget.id, 1, { name: 'Group', limits })
  assert.equal(changed.status, 200, changed.text)
  assert.equal(changed.headers.get('etag'), '"2"')
  assert.deepEqual(
    [changed.body.name, changed.body.version, changed.body.updated_at],
    ['Group', 2, '2026-11-20T12:00:01.000Z'],
  )
  assert.equal(changed.body.limits[1].id, budget.limits[0]?.id)
  assert.notEqual(changed.body.limits[0].id, budget.limits[0]?.id)
  const { body: after } = await service.call('GET', `/v1/budgets/${budget.id}`)
  assert.deepEqual([after.usage[1].committed, after.usage[1].max_amount], ['2.00', '3.00'])
  assert.equal((await askForProof(service, purchase, '1.50')).body.limit.max, '3.00')
  const { body: events } = await service.call('GET', '/v1/audit-log?type=budget.changed')
  assert.equal(events.length, 1)
  const { version, before, after: now } = events[0].data
  assert.deepEqual(
    [version, before.name, now.name, before.limits.length, now.limits.length],
    [2, 'Team', 'Group', 1, 2],
  )
})

test('A change to a budget needs its version, but one that changes nothing never conflicts', async () => {
  const service = await shareTestService()
  const limits = [{ window: daily, max_amount: '5.00' }]
  const { id } = await createBudget(service, limits)
  assert.deepEqual((await change(service, id, null, { name: 'Group' })).body, { detail: 'if_match_required' })
  assert.equal((await change(service, id, 1, { name: 'Group' })).status, 200)
  const late = await change(service, id, 1, { name: 'Other' })
  assert.deepEqual([late.status, late.body], [412, { detail: 'version_mismatch' }])
  const again = await change(service, id, 1, { name: 'Group', limits })
  assert.deepEqual([again.status, again.body.version], [200, 2])
  const unknown = await change(service, 'budget_01jd0000000000000000000000', 1, { name: 'Group' })
  assert.equal(unknown.status, 404)
  const split = await change(service, id, 2, { limits: [{ window: daily, max_count: 1, per: 'seller' }] })
  assert.equal(split.status, 422)
  for (const role of ['approver', 'merchant']) {
    const key = await issueKey(service, { role })
    const headers = { 'if-match': '"2"' }
    const asked = await service.call('PATCH', `/v1/budgets/${id}`, { key, headers, body: { name: 'Mine' } })
    assert.equal(asked.status, 403)
  }
})

test('A limit below what is committed is a 409 with the figures, unless open proofs may end', async () => {
  const service = await shareTestService()
  const { id } = await createBudget(service, [{ window: 'lifetime', max_amount: '20.00' }])
  const purchase = await preparePurchase(service, { budget_id: id })
  await verifyProof(service, await issueProof(service, purchase, '2.00'))
  const open = await issueProof(service, purchase, '3.00')
  const limits = [{ window: 'lifetime', max_amount: '4.00' }]
  const refused = await change(service, id, 1, { limits })
  assert.equal(refused.status, 409)
  assert.equal(refused.body.detail, 'budget_below_committed')
  const { committed, max_amount, count, scope, scope_id } = refused.body.usage
  assert.deepEqual([committed, max_amount, count, scope, scope_id], ['5.00', '4.00', 2, 'budget', id])
  assert.equal((await service.call('GET', `/v1/budgets/${id}`)).body.version, 1)
  const cut = await change(service, id, 1, { limits, end_holds: true })
  assert.equal(cut.status, 200, cut.text)
  assert.deepEqual((await verifyProof(service, open)).body, { verified: false, reason: 'proof_expired' })
  assert.equal((await askForProof(service, purchase, '2.50')).status, 402)
  assert.equal((await askForProof(service, purchase, '2.00')).status, 201)
  // Spent amounts cannot be released: the cut stands, and no more payments are approved.
  const lower = [{ window: 'lifetime', max_amount: '1.00' }]
  assert.equal((await change(service, id, 2, { limits: lower, end_holds: true })).status, 200)
  assert.equal((await askForProof(service, purchase, '0.10')).body.reason_code, 'shared_budget_exceeded')
})

test('What a freeze has ended counts until its mandate asks again, or until it would have expired', async () => {
  const service = await shareTestService()
  const { id } = await createBudget(service, [{ window: 'lifetime', max_amount: '5.00' }])
  const first = await preparePurchase(service, { budget_id: id })
  const second = await preparePurchase(service, { budget_id: id })
  const freezeAndUnfreeze = async () => {
    for (const step of ['freeze', 'unfreeze'])
      assert.equal((await service.call('POST', `/v1/budgets/${id}/${step}`)).status, 200)
  }
  await issueProof(service, first, '4.00')
  await freezeAndUnfreeze()
  assert.equal((await askForProof(service, second, '4.00')).body.reason_code, 'shared_budget_exceeded')
  await issueProof(service, first, '1.00')
  await issueProof(service, second, '4.00')
  await freezeAndUnfreeze()
  service.clock.nowMs += 7 * 60_000
  const committed = async () => (await service.call('GET', `/v1/budgets/${id}`)).body.usage[0].committed
  // The sweep runs every second.
  while ((await committed()) !== '0.00') await setTimeout(50)
})

test('end_holds ends the open proofs below a budget, also if no limit is cut and nothing else changes', async () => {
  const service = await shareTestService()
  const limits = [{ window: daily, max_amount: '100.00' }]
  const { id } = await createBudget(service, limits)
  const purchase = await preparePurchase(service, { budget_id: id })
  const first = await issueProof(service, purchase, '2.00')
  const raised = [{ window: daily, max_amount: '200.00' }]
  const changed = await change(service, id, 1, { limits: raised, end_holds: true })
  assert.deepEqual([changed.status, changed.body.version], [200, 2])
  const second = await issueProof(service, purchase, '2.00')
  const ended = await change(service, id, 2, { end_holds: true })
  assert.deepEqual([ended.status, ended.body.version], [200, 3])
  for (const proof of [first, second]) {
    const refused = await verifyProof(service, proof)
    assert.deepEqual([refused.status, refused.body.reason], [402, 'proof_expired'])
  }
  assert.equal((await change(service, id, 3, { name: 'Team' })).body.version, 3)
})

test('After a freeze, the console shows the open proofs below the budget as voided until their amounts are free', async () => {
  const service = await shareTestService()
  const { id } = await createBudget(service, [{ window: daily, max_amount: '100.00' }])
  const below = await preparePurchase(service, { budget_id: id })
  const later = await preparePurchase(service)
  const proofs = [await issueProof(service, below, '2.00'), await issueProof(service, later, '3.00')]
  service.clock.nowMs += 1_000
  const assigned = await service.call('PATCH', `/v1/mandates/${later.mandateId}`, {
    body: { budget_id: id },
    headers: { 'if-match': '"1"' },
  })
  assert.equal(assigned.status, 200, assigned.text)
  const statuses = async () =>
    Promise.all(
      [below, later].map(async ({ mandateId }) => {
        const { body } = await service.call('GET', `/v1/console/mandates/${mandateId}`)
        return body.open_holds.map(({ status, nonce }: Record<string, string>) => [status, nonce])
      }),
    )
  const shownAs = (status: string) => proofs.map(({ nonce }) => [[status, nonce]])
  assert.deepEqual(await statuses(), shownAs('open'))
  assert.equal((await service.call('POST', `/v1/budgets/${id}/freeze`)).status, 200)
  assert.deepEqual(await statuses(), shownAs('voided'))
})

for (const how of ['unfreeze', 'agent leaves', 'mandate leaves', 'end_holds'] as const) {
  test(`A proof from before a freeze stays void if the clock of the freezing machine is slow: ${how}`, async () => {
    const service = await shareTestService()
    const { id } = await createBudget(service, [])
    const purchase = await preparePurchase(service)
    service.clock.nowMs += 3_000
    const proof = await issueProof(service, purchase)
    service.clock.nowMs -= 3_000
    const assign = (budgetId: string | null, version: number) =>
      how === 'mandate leaves'
        ? service.call('PATCH', `/v1/mandates/${purchase.mandateId}`, {
            body: { budget_id: budgetId },
            headers: { 'if-match': `"${version}"` },
          })
        : service.call('PATCH', `/v1/agents/${purchase.agentId}`, { body: { budget_id: budgetId } })
    assert.equal((await assign(id, 1)).status, 200)
    if (how === 'end_holds') assert.equal((await change(service, id, 1, { end_holds: true })).status, 200)
    else assert.equal((await service.call('POST', `/v1/budgets/${id}/freeze`)).status, 200)
    if (how === 'unfreeze') await service.call('POST', `/v1/budgets/${id}/unfreeze`)
    else if (how !== 'end_holds') assert.equal((await assign(null, 2)).status, 200)
    service.clock.nowMs += 3_000
    const refused = await verifyProof(service, proof)
    assert.deepEqual([refused.status, refused.body.reason], [402, 'proof_expired'])
  })
}

test('A proof that is issued after its agent left a frozen budget is charged, also by a slow clock', async () => {
  const service = await shareTestService()
  const { id } = await createBudget(service, [])
  const purchase = await preparePurchase(service)
  const assign = (budget_id: string | null) =>
    service.call('PATCH', `/v1/agents/${purchase.agentId}`, { body: { budget_id } })
  await assign(id)
  await service.call('POST', `/v1/budgets/${id}/freeze`)
  service.clock.nowMs += 5_000
  assert.equal((await assign(null)).status, 200)
  service.clock.nowMs -= 5_000
  const proof = await issueProof(service, purchase)
  assert.equal((await verifyProof(service, proof)).status, 200)
})

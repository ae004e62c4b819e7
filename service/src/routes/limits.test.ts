import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { Proof } from '@purser/wire/payments'

import { assertLedgerAddsUp, readMandate } from '../../testing/ledger.ts'
import { authorizeProof } from '../../testing/purchases.ts'
import {
  askForProof,
  issueProof,
  preparePurchase,
  verifyProof,
  type Purchase,
  type TestService,
  startTestService,
} from '../../testing/service.ts'
import { shareTestService } from '../../testing/shared-service.ts'

const daily = { calendar: 'day', time_zone: 'Europe/Berlin' }

/** A purchase by an agent whose mandate has some limits. */
async function purchaseWith(service: TestService, fields: Record<string, unknown>) {
  const purchase = await preparePurchase(service, fields)
  return { ...purchase, ask: (amount = '1.00') => askForProof(service, purchase, amount) }
}

test('A mandate shows its limits and their usage', async () => {
  const service = await shareTestService()
  const limits = [
    { window: daily, max_amount: '2.50' },
    { window: { rolling_seconds: 3600 }, max_count: 10, per: 'seller', action: 'deny' },
    { window: 'lifetime', max_count: 5, action: 'notify' },
  ]
  const { mandateId, ask } = await purchaseWith(service, { limits })
  assert.equal((await ask()).status, 201)
  const { body } = await service.call('GET', `/mandates/${mandateId}`)
  assert.deepEqual(
    body.limits.map(({ id: _id, ...limit }: { id: string }) => limit),
    [
      { window: daily, max_amount: '2.50', max_count: null, per: null, action: 'deny' },
      { window: { rolling_seconds: 3600 }, max_amount: null, max_count: 10, per: 'seller', action: 'deny' },
      { window: 'lifetime', max_amount: null, max_count: 5, per: null, action: 'notify' },
    ],
  )
  const [first, second, third] = body.usage
  assert.deepEqual(first, {
    limit_id: body.limits[0].id,
    scope: 'mandate',
    scope_id: mandateId,
    period_starts_at: '2026-11-19T23:00:00.000Z',
    resets_at: '2026-11-20T23:00:00.000Z',
    committed: '1.00',
    count: 1,
    max_amount: '2.50',
    max_count: null,
  })
  assert.deepEqual([second.committed, second.count], [null, null])
  assert.deepEqual([third.count, third.resets_at, third.period_starts_at], [1, null, null])
})

test('A proof above a limit is refused with the limit, and granted in the next period', async () => {
  const service = await shareTestService()
  const { ask, mandateId } = await purchaseWith(service, { limits: [{ window: daily, max_amount: '1.50' }] })
  assert.equal((await ask()).status, 201)
  const { status, body } = await ask()
  assert.equal(status, 402)
  const { id, ...limit } = body.limit
  assert.match(id, /^limit_/)
  assert.equal(body.reason_code, 'velocity_limit_exceeded')
  assert.equal(
    body.reason_detail,
    '1.00 committed + 1.00 > 1.50, a limit of the mandate; there is room again from 21 Nov 2026, 00:00 (Europe/Berlin).',
  )
  assert.deepEqual(limit, {
    scope: 'mandate',
    scope_id: mandateId,
    unit: 'amount',
    max: '1.50',
    committed: '1.00',
    resets_at: '2026-11-20T23:00:00.000Z',
  })
  service.clock.nowMs = Date.parse(limit.resets_at)
  assert.equal((await ask()).status, 201)
})

test('evaluate and verify-agent check limits and shared budgets, and hold nothing', async () => {
  const service = await shareTestService()
  const { body: budget } = await service.call('POST', '/v1/budgets', {
    body: { name: 'Team', limits: [{ window: daily, max_count: 1 }] },
  })
  const { ask, agentId, mandateId, merchantDomain, resourceUrl } = await purchaseWith(service, {
    budget_id: budget.id,
  })
  const proposal = {
    agent_id: agentId,
    mandate_id: mandateId,
    merchant_domain: merchantDomain,
    amount: '1.00',
    resource_url: resourceUrl,
  }
  assert.equal((await service.call('POST', '/v1/policy/evaluate', { body: proposal })).status, 200)
  assert.equal((await service.call('POST', '/v1/verify-agent', { body: proposal })).status, 200)
  assert.equal((await ask()).status, 201)
  const evaluated = await service.call('POST', '/v1/policy/evaluate', { body: proposal })
  assert.equal(evaluated.status, 402)
  assert.equal(evaluated.body.reason_code, 'shared_budget_exceeded')
  assert.deepEqual(evaluated.body.budget, { id: budget.id, name: 'Team' })
  const verified = await service.call('POST', '/v1/verify-agent', { body: proposal })
  assert.equal(verified.body.reason_code, 'shared_budget_exceeded')
})

test('A limit without a max, and one of a budget per seller, is a 422', async () => {
  const service = await shareTestService()
  const budgetOf = (limit: unknown) =>
    service.call('POST', '/v1/budgets', { body: { name: 'Team', limits: [limit] } })
  const cases: [limit: unknown, place: (string | number)[]][] = [
    [{ window: daily }, ['body', 'limits', 0, 'max_amount']],
    [{ window: daily, max_count: 1, per: 'seller' }, ['body', 'limits', 0, 'per']],
    [{ window: 'daily', max_count: 1 }, ['body', 'limits', 0, 'window']],
    [{ window: {}, max_count: 1 }, ['body', 'limits', 0, 'window', 'calendar']],
    [
      { window: { calendar: 'day', time_zone: 'Mars/Olympus' }, max_count: 1 },
      ['body', 'limits', 0, 'window', 'time_zone'],
    ],
    [{ window: { rolling_seconds: 59 }, max_count: 1 }, ['body', 'limits', 0, 'window', 'rolling_seconds']],
    [{ window: { ...daily, day_of_month: 3 }, max_count: 1 }, ['body', 'limits', 0, 'window']],
  ]
  for (const [limit, place] of cases) {
    const { status, body } = await budgetOf(limit)
    assert.equal(status, 422, JSON.stringify(limit))
    assert.deepEqual(body.detail[0].loc, place)
  }
  assert.equal(
    (await budgetOf({ window: 'daily', max_count: 1 })).body.detail[0].msg,
    "Input should be 'lifetime', or an object with calendar and time_zone, or with rolling_seconds",
  )
})

test('Nested budgets are checked nearest first, and more than four levels are refused', async () => {
  const service = await shareTestService()
  const create = async (name: string, parentId: string | null, maxCount: number) => {
    const limits = [{ window: daily, max_count: maxCount }]
    return service.call('POST', '/v1/budgets', { body: { name, parent_id: parentId, limits } })
  }
  let parentId: string | null = null
  const ids: string[] = []
  for (const [name, maxCount] of [
    ['Company', 3],
    ['Team', 2],
    ['Squad', 5],
    ['Bot', 9],
  ] as const) {
    const { body } = await create(name, parentId, maxCount)
    parentId = body.id as string
    ids.push(parentId)
  }
  const deep = await create('Too deep', parentId, 1)
  assert.deepEqual([deep.status, deep.body], [409, { detail: 'budget_too_deep' }])
  const unknown = await create('Orphan', 'budget_01jd0000000000000000000000', 1)
  assert.deepEqual([unknown.status, unknown.body], [404, { detail: 'budget_not_found' }])
  const { ask } = await purchaseWith(service, { budget_id: parentId })
  await ask()
  await ask()
  const { body } = await ask()
  assert.equal(body.reason_code, 'shared_budget_exceeded')
  assert.deepEqual(body.budget, { id: ids[1], name: 'Team' })
  const { body: company } = await service.call('GET', `/v1/budgets/${ids[0]}`)
  assert.equal(company.children, 1)
  assert.equal(company.usage[0].count, 2)
  const { body: list } = await service.call('GET', '/v1/budgets')
  assert.deepEqual(
    list.map(({ id }: { id: string }) => id),
    ids.toReversed(),
  )
})

test('An agent with a budget shares it across all its mandates', async () => {
  const service = await shareTestService()
  const { body: budget } = await service.call('POST', '/v1/budgets', {
    body: { name: 'Bot', limits: [{ window: { rolling_seconds: 600 }, max_amount: '1.50' }] },
  })
  const { ask, agentId, mandateId } = await purchaseWith(service, {})
  const patched = await service.call('PATCH', `/v1/agents/${agentId}`, { body: { budget_id: budget.id } })
  assert.equal(patched.body.budget_id, budget.id)
  assert.equal((await ask()).status, 201)
  assert.equal((await ask()).body.reason_code, 'shared_budget_exceeded')
  const { body: mandate } = await service.call('GET', `/mandates/${mandateId}`)
  assert.deepEqual([mandate.budget_id, mandate.usage[0].committed], [null, '1.00'])
  await service.call('PATCH', `/v1/agents/${agentId}`, { body: { budget_id: null } })
  assert.equal((await ask()).status, 201)
})

test('A freeze permanently voids open proofs below the budget, and nothing is paid until it is undone', async () => {
  const service = await shareTestService()
  const limits = [{ window: 'lifetime', max_amount: '5.00' }]
  const { body: parent } = await service.call('POST', '/v1/budgets', { body: { name: 'Company', limits } })
  const { body: child } = await service.call('POST', '/v1/budgets', {
    body: { name: 'Team', parent_id: parent.id, limits: [] },
  })
  const purchase = await purchaseWith(service, { budget_id: child.id })
  const { body: issued } = await purchase.ask()
  const frozen = await service.call('POST', `/v1/budgets/${parent.id}/freeze`)
  assert.equal(frozen.body.frozen_at, '2026-11-20T12:00:00.000Z')
  const verify = () =>
    service.call('POST', '/v1/payments/verify', {
      body: {
        proof: issued.proof,
        merchant_domain: purchase.merchantDomain,
        expected_amount: issued.proof.amount,
      },
    })
  const statusOfProof = async () =>
    (await service.call('GET', `/v1/payments/proofs/${issued.proof.nonce}`)).body.status
  assert.equal(await statusOfProof(), 'voided')
  assert.deepEqual((await verify()).body, { verified: false, reason: 'proof_expired' })
  const refused = await purchase.ask()
  assert.equal(refused.body.reason_code, 'budget_frozen')
  assert.deepEqual(refused.body.budget, { id: parent.id, name: 'Company' })
  const unfrozen = await service.call('POST', `/v1/budgets/${parent.id}/unfreeze`)
  assert.equal(unfrozen.body.frozen_at, null)
  assert.deepEqual((await verify()).body, { verified: false, reason: 'proof_expired' })
  assert.equal((await purchase.ask('5.00')).status, 201)
  const { body } = await service.call('GET', `/v1/budgets/${parent.id}`)
  assert.equal(body.usage[0].committed, '5.00')
})

test('The total budget can be cut below what a freeze has ended', async () => {
  const service = await shareTestService()
  const { body: budget } = await service.call('POST', '/v1/budgets', { body: { name: 'Team', limits: [] } })
  const purchase = await preparePurchase(service, { budget_id: budget.id })
  await issueProof(service, purchase, '3.00')
  for (const step of ['freeze', 'unfreeze'])
    assert.equal((await service.call('POST', `/v1/budgets/${budget.id}/${step}`)).status, 200)
  const cut = await service.call('PATCH', `/v1/mandates/${purchase.mandateId}`, {
    body: { max_spend_total: '1.00' },
    headers: { 'if-match': '"1"' },
  })
  assert.deepEqual([cut.status, cut.body.held_total], [200, '0.00'])
})

test('A proof that a freeze has voided stays void when its mandate or its agent leaves the budget', async (t) => {
  const service = await startTestService(t)
  for (const isFrozen of [true, false]) {
    for (const who of ['mandate', 'agent']) {
      const { body: budget } = await service.call('POST', '/v1/budgets', {
        body: { name: 'Team', limits: [] },
      })
      const purchase = await preparePurchase(service)
      const moveTo = (budget_id: string | null, version: number) =>
        who === 'agent'
          ? service.call('PATCH', `/v1/agents/${purchase.agentId}`, { body: { budget_id } })
          : service.call('PATCH', `/v1/mandates/${purchase.mandateId}`, {
              body: { budget_id },
              headers: { 'if-match': `"${version}"` },
            })
      const proof = await issueProof(service, purchase)
      assert.equal((await moveTo(budget.id, 1)).status, 200)
      await service.call('POST', `/v1/budgets/${budget.id}/freeze`)
      const statusOfProof = async () =>
        (await service.call('GET', `/v1/payments/proofs/${proof.nonce}`)).body.status
      assert.deepEqual([who, await statusOfProof()], [who, 'voided'])
      if (!isFrozen) await service.call('POST', `/v1/budgets/${budget.id}/unfreeze`)
      assert.equal((await moveTo(null, 2)).status, 200)
      assert.deepEqual([who, await statusOfProof()], [who, 'voided'])
      assert.deepEqual((await verifyProof(service, proof)).body, { verified: false, reason: 'proof_expired' })
      service.clock.nowMs += 1_000
      const later = await issueProof(service, purchase)
      assert.equal((await verifyProof(service, later)).status, 200)
    }
  }
})

test('A freeze also voids proofs that were issued before their mandate or its agent was assigned to the budget', async (t) => {
  const service = await startTestService(t)
  const assign = {
    mandate: ({ mandateId }: Purchase, budget_id: string) =>
      service.call('PATCH', `/v1/mandates/${mandateId}`, {
        body: { budget_id },
        headers: { 'if-match': '"1"' },
      }),
    agent: ({ agentId }: Purchase, budget_id: string) =>
      service.call('PATCH', `/v1/agents/${agentId}`, { body: { budget_id } }),
  }
  for (const [who, assignTo] of Object.entries(assign)) {
    const { body: budget } = await service.call('POST', '/v1/budgets', { body: { name: 'Team', limits: [] } })
    const purchase = await preparePurchase(service)
    const [kept, first, second] = [
      await issueProof(service, purchase),
      await issueProof(service, purchase),
      await issueProof(service, purchase),
    ]
    assert.equal((await assignTo(purchase, budget.id)).status, 200)
    assert.equal((await verifyProof(service, kept)).status, 200, 'an assignment alone voids nothing')
    service.clock.nowMs += 1_000
    await service.call('POST', `/v1/budgets/${budget.id}/freeze`)
    assert.deepEqual((await verifyProof(service, first)).body, { verified: false, reason: 'proof_expired' })
    await service.call('POST', `/v1/budgets/${budget.id}/unfreeze`)
    service.clock.nowMs += 1_000
    const later = await issueProof(service, purchase)
    const reserved = await authorizeProof(service, second)
    assert.deepEqual(reserved.body, { authorized: false, reason: 'proof_expired' }, who)
    assert.equal((await verifyProof(service, later)).status, 200)
    service.clock.nowMs += 360_000

    // Nothing is paid below a budget that is frozen already.
    const { body: frozen } = await service.call('POST', '/v1/budgets', { body: { name: 'Stop', limits: [] } })
    await service.call('POST', `/v1/budgets/${frozen.id}/freeze`)
    service.clock.nowMs += 1_000
    const other = await preparePurchase(service)
    const { mandateId, agentId, resourceUrl: resource_url } = other
    const order = { agent_id: agentId, mandate_id: mandateId, amount: '10.00', resource_url, order_id: '1' }
    const ask = () => service.call('POST', '/v1/payments/proof', { body: order })
    const open = (await ask()).body.proof as Proof
    assert.equal((await assignTo(other, frozen.id)).status, 200)
    assert.deepEqual((await verifyProof(service, open)).body, { verified: false, reason: 'proof_expired' })
    assert.equal((await ask()).body.reason_code, 'budget_frozen')
    await service.call('POST', `/v1/budgets/${frozen.id}/unfreeze`)
    const { nonce } = (await ask()).body.proof as Proof
    assert.notEqual(nonce, open.nonce)
    assert.equal((await readMandate(service, other)).held_total, '10.00')
    service.clock.nowMs += 360_000
  }
  await assertLedgerAddsUp(service)
})

test('A proof that was issued during a freeze stays void after its mandate is assigned to the budget and the budget is unfrozen', async (t) => {
  const service = await startTestService(t)
  const { body: budget } = await service.call('POST', '/v1/budgets', { body: { name: 'Team', limits: [] } })
  await service.call('POST', `/v1/budgets/${budget.id}/freeze`)
  service.clock.nowMs += 60_000
  const purchase = await preparePurchase(service)
  const proof = await issueProof(service, purchase)
  await service.call('PATCH', `/v1/mandates/${purchase.mandateId}`, {
    body: { budget_id: budget.id },
    headers: { 'if-match': '"1"' },
  })
  service.clock.nowMs += 60_000
  await service.call('POST', `/v1/budgets/${budget.id}/unfreeze`)
  assert.deepEqual((await verifyProof(service, proof)).body, { verified: false, reason: 'proof_expired' })
  assert.equal((await verifyProof(service, await issueProof(service, purchase))).status, 200)
  await assertLedgerAddsUp(service)
})

test("Another account's budget is unknown", async (t) => {
  const service = await startTestService(t)
  const { body: budget } = await service.call('POST', '/v1/budgets', { body: { name: 'Team', limits: [] } })
  const { body: other } = await service.call('POST', '/accounts', {
    body: { name: 'Other', email: 'other@example.com', idp_user_id: 'other' },
  })
  const key = other.api_keys[0].key
  assert.equal((await service.call('GET', `/v1/budgets/${budget.id}`, { key })).status, 404)
  const theirs = await service.call('POST', `/v1/budgets/${budget.id}/freeze`, { key })
  assert.equal(theirs.status, 404)
})

test('A refusal promises room only if there will be some', async () => {
  const service = await shareTestService()
  const limits = [
    { window: { calendar: 'day', time_zone: 'UTC' }, max_amount: '5.00' },
    { window: 'lifetime', max_amount: '6.00' },
  ]
  const purchase = await preparePurchase(service, { limits })
  const refusal = async (amount: string) => {
    const { status, body } = await askForProof(service, purchase, amount)
    return [status, body.limit?.resets_at, body.reason_detail]
  }
  await issueProof(service, purchase, '5.00')
  assert.deepEqual(await refusal('1.00'), [
    402,
    '2026-11-21T00:00:00.000Z',
    '5.00 committed + 1.00 > 5.00, a limit of the mandate; there is room again from 21 Nov 2026, 00:00 (UTC).',
  ])
  assert.deepEqual(await refusal('3.00'), [
    402,
    null,
    '5.00 committed + 3.00 > 6.00, a limit of the mandate; it never resets.',
  ])
  const daily = await preparePurchase(service, { limits: limits.slice(0, 1) })
  const { body } = await askForProof(service, daily, '5.01')
  assert.deepEqual(
    [body.limit.resets_at, body.reason_detail],
    [null, '0.00 committed + 5.01 > 5.00, a limit of the mandate; it never has room for this payment.'],
  )
})

for (const [name, window, startMs] of [
  ['a rolling minute', { rolling_seconds: 60 }, Date.UTC(2026, 10, 20, 12)],
  ['a day', { calendar: 'day', time_zone: 'UTC' }, Date.UTC(2026, 10, 20, 23, 59)],
] as const) {
  test(`A limit over ${name} holds just after an agent has left a frozen budget`, async (t) => {
    const service = await startTestService(t)
    service.clock.nowMs = startMs
    const limits = [{ window, max_amount: '5.00' }]
    const shared = await service.call('POST', '/v1/budgets', { body: { name: 'Shared', limits } })
    const { body: frozen } = await service.call('POST', '/v1/budgets', {
      body: { name: 'Frozen', limits: [] },
    })
    const own = await preparePurchase(service, { limits })
    const [leaving, other] = [
      await preparePurchase(service, { budget_id: shared.body.id }),
      await preparePurchase(service, { budget_id: shared.body.id }),
    ]
    const assign = async ({ agentId }: Purchase, budgetId: string | null) => {
      const body = { budget_id: budgetId }
      assert.equal((await service.call('PATCH', `/v1/agents/${agentId}`, { body })).status, 200)
    }
    for (const purchase of [own, leaving]) await assign(purchase, frozen.id)
    for (const purchase of [own, other]) {
      assert.equal((await verifyProof(service, await issueProof(service, purchase, '5.00'))).status, 200)
    }
    service.clock.nowMs += 54_000
    assert.equal((await service.call('POST', `/v1/budgets/${frozen.id}/freeze`)).status, 200)
    for (const purchase of [own, leaving]) await assign(purchase, null)
    service.clock.nowMs += 2_000
    for (const purchase of [own, leaving, other]) {
      const { status, body } = await askForProof(service, purchase, '0.01')
      assert.equal(status, 402, body.reason_code)
    }
    service.clock.nowMs += 10_000
    for (const purchase of [own, leaving]) {
      assert.equal((await verifyProof(service, await issueProof(service, purchase, '0.01'))).status, 200)
    }
  })
}

test('A proof stays void after its agent has left two budgets that were frozen, the later one by a slow clock', async (t) => {
  const service = await startTestService(t)
  const purchase = await preparePurchase(service)
  const budgets: string[] = []
  for (const name of ['First', 'Second']) {
    budgets.push((await service.call('POST', '/v1/budgets', { body: { name, limits: [] } })).body.id)
  }
  const assign = async (budgetId: string | null) => {
    const body = { budget_id: budgetId }
    assert.equal((await service.call('PATCH', `/v1/agents/${purchase.agentId}`, { body })).status, 200)
  }
  const freezeAndLeave = async (budgetId = '') => {
    await assign(budgetId)
    for (const action of ['freeze', 'unfreeze']) {
      assert.equal((await service.call('POST', `/v1/budgets/${budgetId}/${action}`)).status, 200)
    }
    await assign(null)
  }
  await freezeAndLeave(budgets[0])
  const proof = await issueProof(service, purchase)
  service.clock.nowMs -= 5_000
  await freezeAndLeave(budgets[1])
  service.clock.nowMs += 6_000
  assert.equal((await verifyProof(service, proof)).body.reason, 'proof_expired')
  assert.equal((await verifyProof(service, await issueProof(service, purchase))).status, 200)
})

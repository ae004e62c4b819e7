import assert from 'node:assert/strict'
import { after, test } from 'node:test'

import type { DenialCode } from '@purser/wire/policy'

import { changingNothing } from '../../testing/ledger.ts'
import { change, createMerchant, evaluate, pay, verifyAgent } from '../../testing/purchases.ts'
import {
  askForProof,
  createTenant,
  issueKey,
  issueProof,
  preparePurchase,
  type Purchase,
  startTestService,
} from '../../testing/service.ts'
import { shareTestService } from '../../testing/shared-service.ts'

type Fields = Record<string, unknown>

const service = await startTestService({ after })
const purchase = await preparePurchase(service)

/** The report about an agent that cannot be resolved, with the requested ids. */
const unresolved = ({ agentId, mandateId }: Purchase) => ({
  verified: false,
  authorized: false,
  payment_ready: false,
  agent: { id: agentId, name: 'unknown', capabilities: [], status: 'unknown' },
  mandate: { id: mandateId, purpose: '', currency: 'USDC', remaining_budget: '0', expires_at: '' },
  risk: { score: 0, flags: [] },
  recommendation: 'deny',
  reason_code: 'agent_revoked',
})

test('An authorized agent is reported with 200 and every fact [verify-agent.status] [verify-agent.verified] [verify-agent.authorized] [verify-agent.payment_ready] [verify-agent.agent] [verify-agent.mandate] [verify-agent.risk] [verify-agent.recommendation] [verify-agent.reason_code]', async () => {
  const { body: agent } = await service.call('POST', '/agents', {
    body: { name: 'Ada', description: 'shops', capabilities: ['search', 'buy'] },
  })
  const { body: mandate } = await service.call('POST', '/mandates', {
    body: {
      agent_id: agent.id,
      purpose: 'Buy research data',
      max_spend_total: '20.00',
      max_spend_per_transaction: '5.00',
      allowed_sellers: [purchase.merchantDomain],
      expires_at: '2099-01-01T00:00:00+02:00',
    },
  })
  const adas = { ...purchase, agentId: agent.id, mandateId: mandate.id }
  await pay(service, adas, '2.50')
  const answer = await verifyAgent(service, adas, { amount: '5.00' })
  assert.equal(answer.status, 200)
  assert.deepEqual(answer.body, {
    verified: true,
    authorized: true,
    payment_ready: true,
    agent: { id: agent.id, name: 'Ada', capabilities: ['search', 'buy'], status: 'active' },
    mandate: {
      id: mandate.id,
      purpose: 'Buy research data',
      currency: 'USDC',
      remaining_budget: '17.50',
      expires_at: '2099-01-01T00:00:00+02:00',
    },
    risk: { score: 0, flags: [] },
    recommendation: 'accept',
    reason_code: 'within_policy',
  })
})

test('An agent report has the requested id [agent.id]', async () => {
  for (const agentId of [purchase.agentId, 'agent_unknown', '']) {
    const { body } = await verifyAgent(service, { ...purchase, agentId })
    assert.equal(body.agent.id, agentId)
  }
})

test('name is `unknown` when the agent cannot be resolved, and its own otherwise [agent.name]', async () => {
  assert.equal((await verifyAgent(service, purchase)).body.agent.name, 'research-bot')
  assert.equal((await verifyAgent(service, { ...purchase, agentId: 'x' })).body.agent.name, 'unknown')
})

test('capabilities is empty when the agent cannot be resolved [agent.capabilities]', async () => {
  const { body } = await verifyAgent(service, { ...purchase, agentId: 'x' })
  assert.deepEqual(body.agent.capabilities, [])
})

test('status is `active`, `revoked` once revoked, and `unknown` when the agent cannot be resolved [agent.status] [state.rule.3]', async () => {
  const purchase = await preparePurchase(service)
  const statusOf = async (asked: Purchase) => (await verifyAgent(service, asked)).body.agent.status as string
  assert.equal(await statusOf(purchase), 'active')
  await change(service, `/agents/${purchase.agentId}/revoke`)
  assert.equal(await statusOf(purchase), 'revoked')
  assert.equal(await statusOf({ ...purchase, agentId: 'x' }), 'unknown')
})

test('An agent that cannot be resolved is reported exactly with unknown, empty and zero values [verify-agent.unresolved] [errors.403] [mandate.remaining_budget]', async () => {
  const unknown = { ...purchase, agentId: 'agent_unknown', mandateId: 'mandate_unknown' }
  for (const asked of [unknown, { ...purchase, agentId: 'agent_unknown' }]) {
    const answer = await verifyAgent(service, asked)
    assert.equal(answer.status, 403)
    assert.deepEqual(answer.body, unresolved(asked))
  }
})

test('For a known agent without that mandate, the agent is shown and the mandate is empty and 0 [policy.3]', async () => {
  const other = await preparePurchase(service)
  for (const mandateId of ['mandate_unknown', other.mandateId]) {
    const answer = await verifyAgent(service, { ...purchase, mandateId })
    assert.equal(answer.status, 403)
    assert.deepEqual(answer.body, {
      ...unresolved({ ...purchase, mandateId }),
      verified: true,
      agent: { id: purchase.agentId, name: 'research-bot', capabilities: [], status: 'active' },
      reason_code: 'mandate_expired',
    })
  }
})

interface Denial {
  readonly title: string
  readonly reasonCode: DenialCode
  readonly mandate?: Fields
  /** The change of state before the request. */
  readonly path?: (purchase: Purchase) => string
  readonly spent?: string
  readonly request?: Fields
}

const denials: readonly Denial[] = [
  {
    title: 'check 2: a revoked agent',
    reasonCode: 'agent_revoked',
    path: ({ agentId }) => `/agents/${agentId}/revoke`,
  },
  {
    title: 'check 4: a paused mandate',
    reasonCode: 'mandate_expired',
    path: ({ mandateId }) => `/mandates/${mandateId}/pause`,
  },
  {
    title: 'check 4: a revoked mandate',
    reasonCode: 'mandate_expired',
    path: ({ mandateId }) => `/mandates/${mandateId}/revoke`,
  },
  {
    title: 'check 5: an expired mandate',
    reasonCode: 'mandate_expired',
    mandate: { expires_at: '2026-11-20T12:00:00Z' },
  },
  {
    title: 'check 6: a seller that is not on the list',
    reasonCode: 'merchant_not_allowed',
    request: { merchant_domain: 'evil.example' },
  },
  {
    title: 'check 7: a category that is not on the list',
    reasonCode: 'merchant_not_allowed',
    mandate: { allowed_categories: ['data'] },
    request: { category: 'games' },
  },
  {
    title: 'check 8: an amount above the cap',
    reasonCode: 'amount_exceeds_per_transaction_limit',
    request: { amount: '10.000001' },
  },
  {
    title: 'check 9: an amount above what is left',
    reasonCode: 'total_budget_exceeded',
    mandate: { max_spend_total: '10.00' },
    spent: '9.00',
    request: { amount: '1.000001' },
  },
  {
    title: 'the order: agent before mandate, merchant and amount',
    reasonCode: 'agent_revoked',
    path: ({ agentId }) => `/agents/${agentId}/revoke`,
    mandate: { expires_at: '2020-01-01T00:00:00Z' },
    request: { merchant_domain: 'evil.example', amount: '50.00' },
  },
  {
    title: 'the order: merchant before amount',
    reasonCode: 'merchant_not_allowed',
    request: { merchant_domain: 'evil.example', amount: '500.00' },
  },
]
for (const { title, reasonCode, mandate = {}, path, spent, request = {} } of denials) {
  test(`A denied agent is reported with 403, the same shape and its code, ${title} [errors.403] [errors.codes] [policy.order] [verify-agent.status] [limits.per-transaction] [limits.total]`, async () => {
    const purchase = await preparePurchase(service, mandate)
    if (spent !== undefined) await pay(service, purchase, spent)
    const { body: before } = await verifyAgent(service, purchase)
    if (path) await change(service, path(purchase))
    const answer = await changingNothing(service, () => verifyAgent(service, purchase, request))
    assert.equal(answer.status, 403)
    const isRevoked = reasonCode === 'agent_revoked'
    assert.deepEqual(answer.body, {
      verified: !isRevoked,
      authorized: false,
      payment_ready: false,
      agent: { ...before.agent, status: isRevoked ? 'revoked' : 'active' },
      mandate: before.mandate,
      risk: answer.body.risk,
      recommendation: 'deny',
      reason_code: reasonCode,
    })
    const evaluated = await evaluate(service, purchase, request)
    assert.deepEqual([evaluated.status, evaluated.body.reason_code], [402, reasonCode])
  })
}

test('remaining_budget is total minus spent, whatever is held [mandate.remaining_budget] [verify-agent.mandate]', async () => {
  const purchase = await preparePurchase(service, { max_spend_total: '10' })
  const remaining = async () => (await verifyAgent(service, purchase)).body.mandate.remaining_budget as string
  assert.equal(await remaining(), '10.00')
  await pay(service, purchase, '0.000001')
  assert.equal(await remaining(), '9.999999')
  await issueProof(service, purchase, '9.00')
  assert.equal(await remaining(), '9.999999')
  assert.equal((await verifyAgent(service, purchase, { amount: '9.999999' })).status, 200)
  await pay(service, purchase, '0.999999')
  assert.equal(await remaining(), '9.00')
})

test('verify-agent creates no transaction, changes no mandate and writes no event [state.rule.1] [what.4]', async () => {
  const merchant = await createMerchant(service, 'looker.example')
  await changingNothing(service, async () => {
    await verifyAgent(service, purchase)
    await verifyAgent(service, purchase, { amount: '1000.00' })
    await verifyAgent(service, { ...purchase, agentId: 'agent_unknown' })
    await verifyAgent(service, purchase, { merchant_domain: 'looker.example' }, { key: merchant.merchantKey })
    assert.equal((await verifyAgent(service, purchase, { amount: '0' })).status, 422)
  })
})

test('verify-agent answers another account only under the domain of a seller of that account', async (context) => {
  const service = await startTestService(context)
  const purchase = await preparePurchase(service, { allowed_sellers: ['api.example.com'] })
  const merchant = await createMerchant(service, 'api.example.com')
  const stranger = await createMerchant(service, 'stranger.example')
  const own = await verifyAgent(service, purchase)
  assert.equal(own.status, 200)
  const ask = (key: string, domain: string, asked = purchase) =>
    verifyAgent(service, asked, { merchant_domain: domain }, { key })

  for (const key of [merchant.merchantKey, merchant.ownerKey]) {
    for (const domain of ['api.example.com', 'API.example.com.']) {
      assert.deepEqual((await ask(key, domain)).body, own.body)
    }
    const { body } = await ask(key, 'api.example.com', { ...purchase, mandateId: 'mandate_unknown' })
    assert.deepEqual([body.verified, body.reason_code, body.mandate.purpose], [true, 'mandate_expired', ''])
  }
  const notAdmitted = await ask(stranger.merchantKey, 'stranger.example')
  assert.equal(notAdmitted.status, 403)
  assert.equal(notAdmitted.body.reason_code, 'merchant_not_allowed')
  assert.equal(notAdmitted.body.agent.name, 'research-bot')

  const unresolvedFor: readonly (readonly [key: string, domain: string])[] = [
    [stranger.merchantKey, 'api.example.com'],
    [stranger.ownerKey, 'api.example.com'],
    [merchant.merchantKey, 'stranger.example'],
    [merchant.merchantKey, 'nobody.example'],
    [merchant.merchantKey, 'v1.api.example.com'],
    [merchant.productionKey, 'api.example.com'],
    [service.productionKey, 'api.example.com'],
  ]
  for (const [key, domain] of unresolvedFor) {
    const answer = await ask(key, domain)
    assert.equal(answer.status, 403)
    assert.deepEqual(answer.body, unresolved(purchase))
    const nobody = { ...purchase, agentId: 'agent_unknown' }
    assert.deepEqual((await ask(key, domain, nobody)).body, unresolved(nobody))
  }
})

test("An agent is never reported with another account's mandate [policy.3]", async (context) => {
  const service = await startTestService(context)
  const purchase = await preparePurchase(service)
  const merchant = await createMerchant(service)
  const theirs = await preparePurchase(service, {}, merchant.ownerKey)
  const mixed = { ...purchase, mandateId: theirs.mandateId }
  for (const key of [service.sandboxKey, merchant.ownerKey]) {
    const { body } = await verifyAgent(service, mixed, {}, { key })
    assert.deepEqual(body.mandate, unresolved(mixed).mandate)
    assert.equal(body.reason_code, 'mandate_expired')
  }
})

test('Every role may ask, an agent only about itself [verify-agent.status]', async () => {
  const other = await preparePurchase(service)
  const tenant = await createTenant(service, 'idp_asking')
  const foreign = await preparePurchase(service, {}, tenant.sandboxKey)
  const foreignAgent = { role: 'agent', agent_id: foreign.agentId }
  const rows = [
    [service.sandboxKey, 200],
    [await issueKey(service, { role: 'owner' }), 200],
    [await issueKey(service, { role: 'merchant' }), 200],
    [await issueKey(service, { role: 'agent', agent_id: purchase.agentId }), 200],
    [await issueKey(service, { role: 'agent', agent_id: other.agentId }), 403],
    [await issueKey(service, foreignAgent, tenant.sandboxKey), 403],
    [null, 401],
  ] as const
  for (const [key, status] of rows) {
    const answer = await verifyAgent(service, purchase, {}, { key })
    assert.equal(answer.status, status, answer.text)
    if (status === 403) assert.equal(answer.text, '{"detail":"insufficient_scope"}')
  }
})

test('verify-agent takes what evaluate takes, in USDC [limits.currency] [evaluate.request]', async () => {
  for (const fields of [{ currency: 'USDC' }, { category: null }, { category: 'data' }]) {
    assert.equal((await verifyAgent(service, purchase, fields)).status, 200)
  }
  const wrong: readonly Fields[] = [
    { agent_id: undefined },
    { mandate_id: undefined },
    { merchant_domain: undefined },
    { amount: undefined },
    { resource_url: undefined },
    { currency: 'EUR' },
    { currency: null },
    { category: 5 },
    { amount: '0.00' },
    { amount: '-1' },
    { resource_url: 'data' },
  ]
  for (const fields of wrong) {
    const asked = await verifyAgent(service, purchase, fields)
    const evaluated = await evaluate(service, purchase, fields)
    assert.equal(asked.status, 422, JSON.stringify(fields))
    assert.deepEqual(asked.body, evaluated.body)
  }
})

test('Risk is 0 without signals, and each signal adds its flag and its weight [verify-agent.risk]', async () => {
  const service = await shareTestService()
  const minuteMs = 60_000
  async function assertRisk(
    purchase: Purchase,
    score: number,
    flags: readonly string[],
    fields: Fields = {},
  ) {
    assert.deepEqual((await verifyAgent(service, purchase, fields)).body.risk, { score, flags })
  }
  const evaluateTimes = async (count: number, purchase: Purchase, fields: Fields) => {
    await Promise.all(Array.from({ length: count }, () => evaluate(service, purchase, fields)))
  }
  const known = await preparePurchase(service, { allowed_sellers: ['*'], max_spend_total: '10.00' })
  await assertRisk(known, 20, ['first_purchase_at_seller'])
  await pay(service, known, '0.50')
  await assertRisk(known, 0, [])
  await assertRisk(known, 0, [], { merchant_domain: 'API.example.com.' })
  await assertRisk(known, 20, ['first_purchase_at_seller'], { merchant_domain: 'other.example' })

  await pay(service, known, '8.50')
  await assertRisk(known, 0, [])
  await pay(service, known, '0.000001')
  await assertRisk(known, 15, ['budget_nearly_spent'])

  const denied = await preparePurchase(service)
  await pay(service, denied)
  await evaluateTimes(2, denied, { amount: '50.00' })
  await assertRisk(denied, 0, [])
  await evaluateTimes(1, denied, { amount: '50.00' })
  await assertRisk(denied, 30, ['recent_denials'])
  service.clock.nowMs += 60 * minuteMs
  await assertRisk(denied, 0, [])

  const busy = await preparePurchase(service)
  await pay(service, busy)
  await evaluateTimes(28, busy, {})
  await assertRisk(busy, 0, [])
  await evaluateTimes(1, busy, {})
  await assertRisk(busy, 25, ['unusual_rate'])
  service.clock.nowMs += minuteMs
  await assertRisk(busy, 0, [])

  const dayLater = (laterMs: number) =>
    new Date(service.clock.nowMs + 24 * 60 * minuteMs + laterMs).toISOString()
  const aDay = await preparePurchase(service, { expires_at: dayLater(0) })
  await pay(service, aDay)
  await assertRisk(aDay, 0, [])
  service.clock.nowMs += 1
  await assertRisk(aDay, 10, ['expiry_near'])

  const all = await preparePurchase(service, { expires_at: dayLater(-1), max_spend_total: '0.00' })
  await evaluateTimes(30, all, {})
  await assertRisk(all, 85, ['expiry_near', 'first_purchase_at_seller', 'recent_denials', 'unusual_rate'])
})

test('Requests of another agent for a mandate change neither its risk nor its recorded denials', async () => {
  const service = await shareTestService()
  const own = await preparePurchase(service)
  const other = await preparePurchase(service)
  const foreign = { ...own, agentId: other.agentId }
  for (let count = 0; count < 12; count++) {
    assert.equal((await askForProof(service, foreign)).status, 402)
    assert.equal((await evaluate(service, foreign)).status, 402)
  }
  const { body: report } = await verifyAgent(service, own)
  assert.deepEqual(report.risk, { score: 20, flags: ['first_purchase_at_seller'] })
  const denied = await askForProof(service, own, '99.00')
  assert.equal(denied.status, 402)
  const listOf = async (query: string) => (await service.call('GET', `/v1/transactions?${query}`)).body
  assert.deepEqual(
    (await listOf(`mandate_id=${own.mandateId}`)).map(({ amount }: { amount: string }) => amount),
    ['99.00'],
  )
  assert.equal((await listOf(`agent_id=${other.agentId}&limit=100`)).length, 22)
})

import assert from 'node:assert/strict'
import { after, test } from 'node:test'

import type { DenialCode } from '@purser/wire/policy'

import { changingNothing, readLedger, readSums } from '../../testing/ledger.ts'
import { change, evaluate, pay, registerSeller } from '../../testing/purchases.ts'
import {
  createTenant,
  issueKey,
  issueProof,
  preparePurchase,
  type Purchase,
  type TestAnswer,
  startTestService,
} from '../../testing/service.ts'
import { shareTestService } from '../../testing/shared-service.ts'

const service = await startTestService({ after })
const purchase = await preparePurchase(service, { max_spend_total: '100000.00' })

test('If every check passes it is approved: HTTP 200 with within_policy and no detail [state.approved] [evaluate.response] [what.2]', async () => {
  const answer = await evaluate(service, purchase)
  assert.equal(answer.status, 200)
  assert.deepEqual(answer.body, {
    decision: 'approved',
    reason_code: 'within_policy',
    reason_detail: null,
    agent_id: purchase.agentId,
    mandate_id: purchase.mandateId,
    transaction_id: answer.body.transaction_id,
  })
})

test('evaluate records a transaction with its outcome; it spends and holds nothing [state.evaluated] [transaction.fields]', async () => {
  const before = await readLedger(service)
  const answer = await evaluate(service, purchase, { amount: '2.50', category: 'data' })
  const { transactions, ...after } = await readLedger(service)
  assert.deepEqual(transactions.slice(1), before.transactions)
  assert.deepEqual(after, { mandates: before.mandates, events: before.events })
  assert.deepEqual(transactions[0], {
    id: answer.body.transaction_id,
    status: 'approved',
    agent_id: purchase.agentId,
    mandate_id: purchase.mandateId,
    amount: '2.50',
    currency: 'USDC',
    resource_url: purchase.resourceUrl,
    merchant_domain: 'api.example.com',
    seller_id: null,
    category: 'data',
    reason_code: 'within_policy',
    reason_detail: null,
    order_id: null,
    refund_of: null,
    refunded_total: null,
    created_at: '2026-11-20T12:00:00.000Z',
    mandate_version: 1,
    metadata: {},
  })
})

test('A denied evaluation is recorded with the code and detail of its answer [state.denied] [state.evaluated] [errors.402]', async () => {
  const answer = await evaluate(service, purchase, { amount: '10.01' })
  const { body } = await service.call('GET', `/v1/transactions/${answer.body.transaction_id}`)
  assert.equal(answer.status, 402)
  assert.deepEqual(
    [body.status, body.reason_code, body.reason_detail],
    ['denied', 'amount_exceeds_per_transaction_limit', answer.body.reason_detail],
  )
})

type Fields = Record<string, unknown>

const revokeAgent = ({ agentId }: Purchase) => change(service, `/agents/${agentId}/revoke`)
const pause = ({ mandateId }: Purchase) => change(service, `/mandates/${mandateId}/pause`)
const revoke = ({ mandateId }: Purchase) => change(service, `/mandates/${mandateId}/revoke`)

test('Check 1: the agent exists, otherwise agent_revoked [policy.1]', async () => {
  for (const agentId of ['agent_unknown', '', purchase.mandateId]) {
    await assertDecision('agent_revoked', { ...purchase, agentId })
  }
  await assertDecision('within_policy', purchase)
})

test('Check 2: the agent is active, otherwise agent_revoked [policy.2] [state.rule.3]', async () => {
  const purchase = await preparePurchase(service)
  await assertDecision('within_policy', purchase)
  await revokeAgent(purchase)
  await assertDecision('agent_revoked', purchase)
})

test('Check 3: the mandate exists and belongs to the agent, otherwise mandate_expired [policy.3]', async () => {
  const other = await preparePurchase(service)
  for (const mandateId of ['mandate_unknown', '', other.mandateId]) {
    await assertDecision('mandate_expired', { ...purchase, mandateId })
  }
  await assertDecision('within_policy', other)
})

test('Check 4: the mandate is active, otherwise mandate_expired [policy.4] [state.rule.4] [errors.codes]', async () => {
  const purchase = await preparePurchase(service)
  await pause(purchase)
  await assertDecision('mandate_expired', purchase)
  await change(service, `/mandates/${purchase.mandateId}/resume`)
  await assertDecision('within_policy', purchase)
  await revoke(purchase)
  await assertDecision('mandate_expired', purchase)
})

test('Check 5: expires_at is in the future, otherwise mandate_expired [policy.5] [state.rule.4]', async () => {
  const service = await shareTestService()
  const purchase = await preparePurchase(service, { expires_at: '2026-11-20T14:00:01+02:00' })
  const codeAt = async (laterMs: number) => {
    service.clock.nowMs += laterMs
    return (await evaluate(service, purchase)).body.reason_code as string
  }
  assert.equal(await codeAt(999), 'within_policy')
  assert.equal(await codeAt(1), 'mandate_expired')
  assert.equal(await codeAt(1), 'mandate_expired')
  const past = await preparePurchase(service, { expires_at: '2020-01-01T00:00:00Z' })
  assert.equal((await evaluate(service, past)).body.reason_code, 'mandate_expired')
  const { body } = await service.call('GET', `/mandates/${purchase.mandateId}`)
  assert.equal(body.status, 'active')
})

test('Check 6: merchant_domain is in allowed_sellers, or * is, otherwise merchant_not_allowed [policy.6]', async () => {
  const sellers = ['shop.example', 'Bücher.Example.', 'API.example.com']
  const listed = await preparePurchase(service, { allowed_sellers: sellers })
  const anybody = await preparePurchase(service, { allowed_sellers: ['other.example', '*'] })
  const admitted = [
    'shop.example',
    'SHOP.EXAMPLE',
    'shop.example.',
    'bücher.example',
    'xn--bcher-kva.example',
    'api.example.com',
  ]
  for (const domain of admitted) await assertDecision('within_policy', listed, { merchant_domain: domain })
  for (const domain of ['a.shop.example', 'shop.example.com', 'hop.example', 'example', '*', '']) {
    await assertDecision('merchant_not_allowed', listed, { merchant_domain: domain })
    await assertDecision('within_policy', anybody, { merchant_domain: domain })
  }
  const nobody = await preparePurchase(service, { allowed_sellers: [] })
  await assertDecision('merchant_not_allowed', nobody)
})

test('Check 7: category is in allowed_categories, or * is, or the list is empty, otherwise merchant_not_allowed [policy.7]', async () => {
  const listed = await preparePurchase(service, { allowed_categories: ['data', 'books'] })
  const starred = await preparePurchase(service, { allowed_categories: ['data', '*'] })
  const empty = await preparePurchase(service, { allowed_categories: [] })
  for (const fields of [{ category: 'data' }, { category: 'books' }]) {
    await assertDecision('within_policy', listed, fields)
  }
  for (const fields of [
    { category: 'Data' },
    { category: 'games' },
    { category: '' },
    { category: null },
    {},
  ]) {
    await assertDecision('merchant_not_allowed', listed, fields)
    await assertDecision('within_policy', starred, fields)
    await assertDecision('within_policy', empty, fields)
  }
})

test('Check 8: amount <= max_spend_per_transaction, otherwise amount_exceeds_per_transaction_limit [policy.8] [limits.per-transaction]', async () => {
  const capped = await preparePurchase(service, { max_spend_per_transaction: '9.5' })
  const aboveTotal = await preparePurchase(service, {
    max_spend_per_transaction: '500.00',
    max_spend_total: '100.00',
  })
  for (const amount of ['9.5', '9.500000', '009.50', '0.000001', '9', '9.499999']) {
    await assertDecision('within_policy', capped, { amount })
  }
  for (const amount of ['9.500001', '9.6', '10', '999999999999.999999']) {
    await assertDecision('amount_exceeds_per_transaction_limit', capped, { amount })
  }
  const zero = await preparePurchase(service, { max_spend_per_transaction: '0' })
  await assertDecision('amount_exceeds_per_transaction_limit', zero, { amount: '0.000001' })
  await assertDecision('within_policy', aboveTotal, { amount: '100.00' })
  await assertDecision('total_budget_exceeded', aboveTotal, { amount: '100.000001' })
})

test('Check 9: spent_total + amount <= max_spend_total, otherwise total_budget_exceeded [policy.9] [limits.total]', async () => {
  const purchase = await preparePurchase(service, { max_spend_total: '15.000001' })
  await assertDecision('within_policy', purchase, { amount: '10.00' })
  await assertDecision('within_policy', purchase, { amount: '10.00' })
  await pay(service, purchase, '10.00')
  await assertDecision('within_policy', purchase, { amount: '5.000001' })
  await assertDecision('total_budget_exceeded', purchase, { amount: '5.000002' })
  await pay(service, purchase, '5.000001')
  await assertDecision('total_budget_exceeded', purchase, { amount: '0.000001' })
  await assertDecision('total_budget_exceeded', await preparePurchase(service, { max_spend_total: '0.00' }))
})

test('evaluate counts what is spent, but not holds or earlier approvals [policy.9]', async () => {
  const purchase = await preparePurchase(service, { max_spend_total: '10.00' })
  await issueProof(service, purchase, '10.00')
  for (let count = 0; count < 3; count++) {
    await assertDecision('within_policy', purchase, { amount: '10.00' })
  }
  assert.deepEqual(await readSums(service, purchase), ['0.00', '10.00', '10.00'])
})

test('Evaluation stops at the first failure: fixed one by one, the checks fail in order [policy.order]', async () => {
  const wrong: Fields = { agent_id: 'agent_unknown', merchant_domain: 'evil.example', amount: '50.00' }
  const mandate = {
    max_spend_total: '5.00',
    allowed_categories: ['data'],
    expires_at: '2020-01-01T00:00:00Z',
  }
  const expired = await preparePurchase(service, mandate)
  const { agent_id: _, ...request } = wrong
  await assertDecision('agent_revoked', expired, wrong)
  await assertDecision('mandate_expired', expired, request)
  const valid = await preparePurchase(service, { ...mandate, expires_at: '2099-01-01T00:00:00Z' })
  const { reason_detail: seller } = await assertDecision('merchant_not_allowed', valid, request)
  assert.match(seller, /evil\.example/)
  const rightSeller = { amount: '50.00', category: 'games' }
  const { reason_detail: category } = await assertDecision('merchant_not_allowed', valid, rightSeller)
  assert.equal(category, 'The category of the payment is not allowed; the mandate allows data.')
  await assertDecision('amount_exceeds_per_transaction_limit', valid, { amount: '50.00', category: 'data' })
  await assertDecision('total_budget_exceeded', valid, { amount: '5.01', category: 'data' })
  await assertDecision('within_policy', valid, { amount: '5.00', category: 'data' })
  await pause(valid)
  await assertDecision('mandate_expired', valid, request)
  await revokeAgent(valid)
  await assertDecision('agent_revoked', valid, request)
})

test('The paid transaction is a separate record, never the approved one [state.rule.5] [state.approved]', async () => {
  const purchase = await preparePurchase(service)
  const { body: approved } = await evaluate(service, purchase)
  const paidId = await pay(service, purchase)
  assert.notEqual(paidId, approved.transaction_id)
  const { body } = await service.call('GET', `/v1/transactions?mandate_id=${purchase.mandateId}`)
  assert.deepEqual(
    body.map(({ id, status }: { id: string; status: string }) => [id, status]),
    [
      [paidId, 'paid'],
      [approved.transaction_id, 'approved'],
    ],
  )
})

test("The merchant is looked up by its domain, and another account's seller is not disclosed [transaction.fields]", async () => {
  const purchase = await preparePurchase(service, { allowed_sellers: ['*'] })
  const sellerId = await registerSeller(service, 'own.example')
  const tenant = await createTenant(service, 'idp_seller')
  await registerSeller(service, 'their.example', tenant.sandboxKey)
  const rows = [
    ['OWN.example.', 'own.example', sellerId],
    ['their.example', 'their.example', null],
    ['nobody.example', 'nobody.example', null],
  ] as const
  for (const [asked, stored, expected] of rows) {
    const answer = await evaluate(service, purchase, { merchant_domain: asked })
    const { body } = await service.call('GET', `/v1/transactions/${answer.body.transaction_id}`)
    assert.deepEqual([body.merchant_domain, body.seller_id], [stored, expected])
  }
  assert.deepEqual((await readLedger(service, tenant.sandboxKey)).transactions, [])
})

test('Another tenant or environment is unknown to evaluate, and its owner sees no record [policy.1]', async () => {
  const tenant = await createTenant(service, 'idp_evaluating')
  for (const key of [tenant.sandboxKey, tenant.productionKey, service.productionKey]) {
    const answer = await changingNothing(service, () => evaluate(service, purchase, {}, { key }))
    assert.deepEqual([answer.status, answer.body.reason_code], [402, 'agent_revoked'])
    const unknown = await evaluate(service, { ...purchase, agentId: 'agent_unknown' }, {}, { key })
    assert.equal(answer.body.reason_detail, unknown.body.reason_detail)
  }
})

test('evaluate takes a proposed payment; category may be absent or null, and currency is USDC or absent [evaluate.request] [limits.currency]', async () => {
  const fine: readonly Fields[] = [
    {},
    { currency: 'USDC' },
    { category: null },
    { category: 'data' },
    { other: 1 },
  ]
  for (const fields of fine) await assertDecision('within_policy', purchase, fields)
  const required = ['agent_id', 'mandate_id', 'merchant_domain', 'amount', 'resource_url']
  const wrong: readonly (readonly [fields: Fields, field: string, type: string])[] = [
    ...required.map((field) => [{ [field]: undefined }, field, 'missing'] as const),
    ...required.slice(0, 4).map((field) => [{ [field]: null }, field, 'string_type'] as const),
    [{ currency: 'EUR' }, 'currency', 'literal_error'],
    [{ currency: 'usdc' }, 'currency', 'literal_error'],
    [{ category: 5 }, 'category', 'string_type'],
    [{ amount: '0' }, 'amount', 'greater_than'],
    [{ amount: '-1' }, 'amount', 'string_pattern_mismatch'],
    [{ amount: 1 }, 'amount', 'string_type'],
    [{ amount: '1000000000000' }, 'amount', 'decimal_whole_digits'],
    [{ resource_url: 'data' }, 'resource_url', 'url_parsing'],
  ]
  await changingNothing(service, async () => {
    for (const [fields, field, type] of wrong) {
      const answer = await evaluate(service, purchase, fields)
      assert.equal(answer.status, 422, answer.text)
      const items = answer.body.detail as { loc: unknown; type: unknown }[]
      assert.deepEqual(
        items.map((item) => [item.loc, item.type]),
        [[['body', field], type]],
      )
    }
  })
})

test('Operator, owner and the agent itself may evaluate; another agent and a merchant may not', async () => {
  const other = await preparePurchase(service)
  const rows = [
    [service.sandboxKey, 200],
    [await issueKey(service, { role: 'owner' }), 200],
    [await issueKey(service, { role: 'agent', agent_id: purchase.agentId }), 200],
    [await issueKey(service, { role: 'agent', agent_id: other.agentId }), 403],
    [await issueKey(service, { role: 'merchant' }), 403],
    [null, 401],
  ] as const
  for (const [key, status] of rows) {
    const { transactions } = await readLedger(service)
    const answer = await evaluate(service, purchase, {}, { key })
    assert.equal(answer.status, status, answer.text)
    if (status === 403) assert.equal(answer.text, '{"detail":"insufficient_scope"}')
    const recorded = (await readLedger(service)).transactions.length - transactions.length
    assert.equal(recorded, status === 200 ? 1 : 0)
  }
})

test('A production key evaluates in production [auth.2]', async () => {
  const { productionKey: key } = service
  const purchase = await preparePurchase(service, {}, key)
  const answer = await changingNothing(service, () => evaluate(service, purchase, {}, { key }))
  assert.equal(answer.status, 200)
  const path = `/v1/transactions/${answer.body.transaction_id}`
  assert.equal((await service.call('GET', path, { key })).status, 200)
  assert.equal((await service.call('GET', path)).status, 404)
})

/** The answer, after checking every field and that it spent and held nothing. */
async function assertDecision(
  reasonCode: DenialCode | 'within_policy',
  purchase: Purchase,
  fields: Fields = {},
): Promise<TestAnswer['body']> {
  const mandates = await service.call('GET', '/mandates')
  const answer = await evaluate(service, purchase, fields)
  const isApproved = reasonCode === 'within_policy'
  const { reason_detail: detail, transaction_id: transactionId } = answer.body
  assert.deepEqual(answer.body, {
    decision: isApproved ? 'approved' : 'denied',
    reason_code: reasonCode,
    reason_detail: detail,
    agent_id: fields['agent_id'] ?? purchase.agentId,
    mandate_id: purchase.mandateId,
    transaction_id: transactionId,
  })
  assert.equal(answer.status, isApproved ? 200 : 402)
  assert.equal(typeof detail, isApproved ? 'object' : 'string')
  assert.notEqual(detail, '')
  assert.equal((await service.call('GET', '/mandates')).text, mandates.text)
  const recorded = await service.call('GET', `/v1/transactions/${transactionId}`)
  assert.equal(recorded.body.status, answer.body.decision)
  return answer.body
}

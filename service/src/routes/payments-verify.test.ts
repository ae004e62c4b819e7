import assert from 'node:assert/strict'
import { after, test } from 'node:test'

import { assertLedgerAddsUp, changingNothing, readLedger, readSums } from '../../testing/ledger.ts'
import { pay, registerSeller } from '../../testing/purchases.ts'
import {
  createTenant,
  issueKey,
  issueProof,
  preparePurchase,
  testStartMs,
  verifyProof,
  type TestAnswer,
  startTestService,
} from '../../testing/service.ts'
import { shareTestService } from '../../testing/shared-service.ts'

const minuteMs = 60_000
const service = await startTestService({ after })
const purchase = await preparePurchase(service, { max_spend_total: '100000.00' })

test('Success is HTTP 200 with verified true and transaction_id, and nothing else [verify.success] [what.3]', async () => {
  const answer = await verifyProof(service, await issueProof(service, purchase))
  assert.equal(answer.status, 200)
  assert.deepEqual(Object.keys(answer.body), ['verified', 'transaction_id'])
  assert.equal(answer.body.verified, true)
  const found = await service.call('GET', `/v1/transactions/${answer.body.transaction_id}`)
  assert.equal(found.status, 200)
})

test('Failure is HTTP 402 with verified false and one of four reasons, and nothing else [verify.failure] [errors.codes]', async () => {
  const service = await shareTestService()
  const purchase = await preparePurchase(service)
  const proof = await issueProof(service, purchase)
  const paid = await issueProof(service, purchase)
  assert.equal((await verifyProof(service, paid)).status, 200)
  const rows: readonly (readonly [reason: string, attempt: () => Promise<TestAnswer>])[] = [
    ['amount_mismatch', () => verifyProof(service, proof, { expected_amount: '2.00' })],
    ['invalid_signature', () => verifyProof(service, { ...proof, scheme: 'other' })],
    ['nonce_reused', () => verifyProof(service, paid)],
    ['proof_expired', () => at(service.clock, 6 * minuteMs, () => verifyProof(service, proof))],
  ]
  for (const [reason, attempt] of rows) {
    const answer = await attempt()
    assert.equal(answer.status, 402)
    assert.equal(answer.text, JSON.stringify({ verified: false, reason }))
  }
})

const ages: readonly (readonly [ageMs: number, status: 200 | 402])[] = [
  [0, 200],
  [5 * minuteMs - 1, 200],
  [5 * minuteMs, 200],
  [5 * minuteMs + 1, 402],
  [6 * minuteMs, 402],
  [365 * 24 * 60 * minuteMs, 402],
  [-5 * minuteMs, 200],
  [-5 * minuteMs - 1, 402],
]
for (const [ageMs, status] of ages) {
  const outcome = status === 200 ? 'is verified' : 'is proof_expired and stays unpaid'
  test(`A proof of ${ageMs} ms ${outcome} [verify.step.1] [limits.window]`, async () => {
    const purchase = await preparePurchase(service)
    const proof = await issueProof(service, purchase)
    await at(service.clock, ageMs, async () => {
      const answer = await verifyProof(service, proof)
      assert.equal(answer.status, status, answer.text)
      if (status === 402) assert.equal(answer.body.reason, 'proof_expired')
    })
    const found = await service.call('GET', `/v1/payments/proofs/${proof.nonce}`)
    assert.equal(found.body.status === 'captured', status === 200)
    assert.equal((await readSums(service, purchase))[0], status === 200 ? '1.00' : '0.00')
  })
}

const mismatches: readonly Record<string, unknown>[] = [
  { expected_amount: '10.0' },
  { expected_amount: '10' },
  { expected_amount: '010.00' },
  { expected_amount: '10.000' },
  { expected_amount: '10.01' },
  { expected_amount: '9.99' },
  { expected_amount: '99999999999999999999.00' },
  { expected_currency: 'usdc' },
  { expected_currency: 'EUR' },
  { expected_currency: '' },
  { expected_currency: 'USDC ' },
]
for (const fields of mismatches) {
  test(`10.00 USDC is not ${JSON.stringify(fields)}: amount_mismatch [verify.step.2] [limits.equality] [what.amounts]`, async () => {
    const proof = await issueProof(service, purchase, '10.00')
    const answer = await changingNothing(service, () => verifyProof(service, proof, fields))
    assert.deepEqual([answer.status, answer.body], [402, { verified: false, reason: 'amount_mismatch' }])
    assert.equal((await verifyProof(service, proof)).status, 200)
  })
}

test('10.0 is not 10.00, and 10.0 is 10.0 [verify.step.2] [limits.equality]', async () => {
  const proof = await issueProof(service, purchase, '10.0')
  const answer = await changingNothing(service, () =>
    verifyProof(service, proof, { expected_amount: '10.00' }),
  )
  assert.equal(answer.body.reason, 'amount_mismatch')
  assert.equal((await verifyProof(service, proof, { expected_amount: '10.0' })).status, 200)
})

test('A signed proof that this store never held charges nothing and is proof_expired [verify.failure]', async (context) => {
  const settings = { PURSER_PROOF_SECRET: 'one secret for both of these services' }
  const elsewhere = await startTestService(context, settings)
  const here = await startTestService(context, settings)
  const proof = await issueProof(elsewhere, await preparePurchase(elsewhere))
  const answer = await changingNothing(here, () => verifyProof(here, proof))
  assert.deepEqual([answer.status, answer.body], [402, { verified: false, reason: 'proof_expired' }])
})

test('A nonce can be used only once, otherwise nonce_reused for every caller [verify.step.4] [limits.nonce]', async () => {
  const proof = await issueProof(service, purchase)
  const merchantKey = await issueKey(service, { role: 'merchant' })
  assert.equal((await verifyProof(service, proof)).status, 200)
  await changingNothing(service, async () => {
    for (const options of [{}, {}, { key: merchantKey }, { headers: { 'idempotency-key': 'late' } }]) {
      const answer = await verifyProof(service, proof, {}, options)
      assert.deepEqual([answer.status, answer.body], [402, { verified: false, reason: 'nonce_reused' }])
    }
  })
})

test('The nonce is marked used with the payment: of many concurrent attempts, one is paid [verify.step.5] [verify.step.6] [limits.nonce]', async (context) => {
  const service = await startTestService(context)
  const purchase = await preparePurchase(service)
  const proof = await issueProof(service, purchase)
  const answers = await Promise.all(Array.from({ length: 25 }, () => verifyProof(service, proof)))
  assert.equal(answers.filter(({ status }) => status === 200).length, 1)
  assert.equal(answers.filter(({ body }) => body.reason === 'nonce_reused').length, 24)
  assert.deepEqual(await readSums(service, purchase), ['1.00', '0.00', '99.00'])
  const { transactions, events } = await readLedger(service)
  assert.equal(transactions.length, 1)
  assert.equal(events.filter(({ type }) => type === 'payment.verified').length, 1)
  await assertLedgerAddsUp(service)
})

test('The budget is incremented atomically: racing proofs and payments never exceed it [verify.step.6] [limits.total]', async (context) => {
  const service = await startTestService(context)
  const purchase = await preparePurchase(service, { max_spend_total: '10.00' })
  const asked = await Promise.all(
    Array.from({ length: 30 }, () => issueProof(service, purchase).catch(() => undefined)),
  )
  const proofs = asked.filter((proof) => proof !== undefined)
  assert.equal(proofs.length, 10)
  assert.deepEqual(await readSums(service, purchase), ['0.00', '10.00', '10.00'])
  const answers = await Promise.all(proofs.map((proof) => verifyProof(service, proof)))
  assert.deepEqual(
    answers.map(({ status }) => status),
    proofs.map(() => 200),
  )
  assert.deepEqual(await readSums(service, purchase), ['10.00', '0.00', '0.00'])
  await assertLedgerAddsUp(service)
})

test('spent_total grows with each verified payment, and not with holds [mandate.spent_total] [mandate.remaining_budget]', async () => {
  const purchase = await preparePurchase(service)
  const steps: readonly (readonly [amount: string, spent: string, remaining: string])[] = [
    ['1', '1.00', '99.00'],
    ['0.000001', '1.000001', '98.999999'],
    ['2.499999', '3.50', '96.50'],
    ['0.10', '3.60', '96.40'],
  ]
  assert.deepEqual(await readSums(service, purchase), ['0.00', '0.00', '100.00'])
  for (const [amount, spent, remaining] of steps) {
    await pay(service, purchase, amount)
    assert.deepEqual(await readSums(service, purchase), [spent, '0.00', remaining])
  }
})

test('A verification marks the nonce used, spends, records one paid transaction and one audit event [state.paid] [verify.step.5] [verify.step.7] [verify.step.8] [events.1]', async () => {
  const purchase = await preparePurchase(service)
  const proof = await issueProof(service, purchase, '2.50')
  const before = await readLedger(service)
  service.clock.nowMs += 1_000
  const answer = await verifyProof(service, proof)
  service.clock.nowMs -= 1_000
  const { transactions, events } = await readLedger(service)
  assert.deepEqual(transactions.slice(1), before.transactions)
  assert.deepEqual(transactions[0], {
    id: answer.body.transaction_id,
    status: 'paid',
    agent_id: purchase.agentId,
    mandate_id: purchase.mandateId,
    amount: '2.50',
    currency: 'USDC',
    resource_url: purchase.resourceUrl,
    merchant_domain: 'api.example.com',
    seller_id: null,
    category: null,
    reason_code: null,
    reason_detail: null,
    order_id: null,
    refund_of: null,
    refunded_total: '0.00',
    mandate_version: 1,
    metadata: {},
    created_at: new Date(testStartMs + 1_000).toISOString(),
  })
  assert.deepEqual(events.slice(1), before.events)
  const [event] = events
  assert.deepEqual([event?.type, event?.subject_id], ['payment.verified', answer.body.transaction_id])
  assert.deepEqual(await readSums(service, purchase), ['2.50', '0.00', '97.50'])
  const found = await service.call('GET', `/v1/payments/proofs/${proof.nonce}`)
  assert.deepEqual([found.body.status, found.body.transaction_id], ['captured', answer.body.transaction_id])
})

test("The merchant is looked up by its domain: an own seller or none, and never another account's [verify.step.7] [transaction.fields]", async (context) => {
  const service = await startTestService(context)
  const purchase = await preparePurchase(service, { allowed_sellers: ['*'] })
  const ownId = await registerSeller(service, 'Shop.Example.com.')
  const idnaId = await registerSeller(service, 'bücher.example')
  const stranger = await createTenant(service)
  await registerSeller(service, 'stranger.example', stranger.sandboxKey)
  const rows: readonly (readonly [asked: string, stored: string, sellerId: string | null])[] = [
    ['shop.example.com', 'shop.example.com', ownId],
    ['SHOP.example.COM.', 'shop.example.com', ownId],
    ['xn--bcher-kva.example', 'xn--bcher-kva.example', idnaId],
    ['BÜCHER.example', 'xn--bcher-kva.example', idnaId],
    ['other.example.com', 'other.example.com', null],
    ['stranger.example', 'stranger.example', null],
  ]
  for (const [asked, stored, sellerId] of rows) {
    const id = await pay(service, purchase, '1.00', { merchant_domain: asked })
    const { body } = await service.call('GET', `/v1/transactions/${id}`)
    assert.deepEqual([body.merchant_domain, body.seller_id], [stored, sellerId], asked)
  }
  assert.deepEqual((await readLedger(service, stranger.sandboxKey)).transactions, [])
})

test('The steps run in order and stop at the first failure [verify.order]', async () => {
  const service = await shareTestService()
  const purchase = await preparePurchase(service)
  const proof = await issueProof(service, purchase)
  assert.equal((await verifyProof(service, proof)).status, 200)
  const forged = { ...proof, signature: '0'.repeat(64) }
  const wrongAmount = { expected_amount: '2.00' }
  const rows: readonly (readonly [reason: string, attempt: () => Promise<TestAnswer>])[] = [
    ['nonce_reused', () => verifyProof(service, proof)],
    ['invalid_signature', () => verifyProof(service, forged)],
    ['amount_mismatch', () => verifyProof(service, forged, wrongAmount)],
    ['amount_mismatch', () => verifyProof(service, proof, wrongAmount)],
  ]
  for (const [reason, attempt] of rows) {
    assert.equal((await attempt()).body.reason, reason)
    const late = await at(service.clock, 5 * minuteMs + 1, attempt)
    assert.equal(late.body.reason, 'proof_expired')
  }
  assert.equal((await readLedger(service)).transactions.length, 1)
})

test('verify takes proof, merchant_domain, expected_amount, and expected_currency, which defaults to USDC [endpoint.verify.request] [limits.currency]', async () => {
  for (const fields of [{}, { expected_currency: 'USDC' }]) {
    const answer = await verifyProof(service, await issueProof(service, purchase), fields)
    assert.equal(answer.status, 200, answer.text)
  }
  const proof = await issueProof(service, purchase)
  const rows: readonly (readonly [fields: object, loc: readonly string[], type: string])[] = [
    [{ proof: undefined }, ['body', 'proof'], 'missing'],
    [{ merchant_domain: undefined }, ['body', 'merchant_domain'], 'missing'],
    [{ merchant_domain: 5 }, ['body', 'merchant_domain'], 'string_type'],
    [{ expected_amount: undefined }, ['body', 'expected_amount'], 'missing'],
    [{ expected_amount: 'ten' }, ['body', 'expected_amount'], 'string_pattern_mismatch'],
    [{ expected_currency: null }, ['body', 'expected_currency'], 'string_type'],
    ...Object.keys(proof).map(
      (field) => [{ proof: { ...proof, [field]: undefined } }, ['body', 'proof', field], 'missing'] as const,
    ),
  ]
  await changingNothing(service, async () => {
    for (const [fields, loc, type] of rows) {
      const answer = await verifyProof(service, proof, fields as Record<string, unknown>)
      assert.equal(answer.status, 422, answer.text)
      const items = answer.body.detail as { loc: unknown; type: unknown }[]
      assert.deepEqual(
        items.map((item) => [item.loc, item.type]),
        [[loc, type]],
      )
    }
  })
})

test('Operator, owner and merchant may verify; an agent may not collect for itself', async () => {
  const agentKey = await issueKey(service, { role: 'agent', agent_id: purchase.agentId })
  const proof = await issueProof(service, purchase)
  for (const [key, status] of [[agentKey, 403] as const, [null, 401] as const]) {
    const answer = await changingNothing(service, () => verifyProof(service, proof, {}, { key }))
    assert.equal(answer.status, status)
    assert.equal('verified' in answer.body, false)
  }
  for (const role of ['owner', 'merchant']) {
    const key = await issueKey(service, { role })
    const answer = await verifyProof(service, await issueProof(service, purchase), {}, { key })
    assert.equal(answer.status, 200, role)
  }
})

test('A verification is never undone: a refund would be a separate record [state.rule.2]', async () => {
  const purchase = await preparePurchase(service)
  const id = await pay(service, purchase, '2.50')
  const { body: paid } = await service.call('GET', `/v1/transactions/${id}`)
  for (const [method, path, status] of [
    ['DELETE', `/v1/transactions/${id}`, 405],
    ['PATCH', `/v1/transactions/${id}`, 405],
    ['POST', '/v1/payments/refund', 404],
  ] as const) {
    assert.equal((await service.call(method, path)).status, status)
  }
  await service.call('PATCH', `/mandates/${purchase.mandateId}/revoke`)
  await service.call('PATCH', `/agents/${purchase.agentId}/revoke`)
  assert.deepEqual((await service.call('GET', `/v1/transactions/${id}`)).body, paid)
  assert.deepEqual(await readSums(service, purchase), ['2.50', '0.00', '97.50'])
})

/** Runs the function at another time, then sets the clock back. */
async function at<Result>(
  clock: { nowMs: number },
  laterMs: number,
  act: () => Promise<Result>,
): Promise<Result> {
  clock.nowMs += laterMs
  try {
    return await act()
  } finally {
    clock.nowMs -= laterMs
  }
}

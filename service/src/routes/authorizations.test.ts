import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

import { changingNothing, readSums } from '../../testing/ledger.ts'
import { authorizeProof, createMerchant } from '../../testing/purchases.ts'
import { prepareRoleKeys } from '../../testing/role-keys.ts'
import {
  createTenant,
  issueProof,
  preparePurchase,
  startTestService,
  verifyProof,
  type CallOptions,
} from '../../testing/service.ts'

const service = await startTestService({ after })
const { keys } = await prepareRoleKeys(service)

type Proof = Awaited<ReturnType<typeof issueProof>>

const authorize = (proof: Proof, body: Readonly<Record<string, unknown>> = {}, options: CallOptions = {}) =>
  authorizeProof(service, proof, body, options)

function capture(nonce: string, body: Readonly<Record<string, unknown>> = {}, options: CallOptions = {}) {
  return service.call('POST', `/v1/payments/${nonce}/capture`, { body, ...options })
}

const voidAuthorization = (nonce: string, options: CallOptions = {}) =>
  service.call('POST', `/v1/payments/${nonce}/void`, options)

/** Waits until the sweep has ended everything that is overdue, also of other tests. */
async function untilSwept(): Promise<void> {
  for (;;) {
    const { body: mandates } = await service.call('GET', '/mandates?limit=200')
    const sums = mandates.map(({ held_total: held, authorized_total: authorized }: never) => [
      held,
      authorized,
    ])
    if (sums.flat().every((sum: string) => sum === '0.00')) return
    await sleep(20)
  }
}

for (const role of ['merchant', 'owner', 'operator'] as const) {
  test(`The ${role} authorizes a payment, which reserves its amount, and captures part of it`, async () => {
    const purchase = await preparePurchase(service, { max_spend_total: '10.00' })
    const proof = await issueProof(service, purchase, '10.00')
    const key = keys[role]
    const authorized = await authorize(proof, {}, { key })
    const deadline = new Date(service.clock.nowMs + 600_000).toISOString()
    assert.equal(authorized.status, 200, authorized.text)
    assert.deepEqual(authorized.body, {
      authorized: true,
      authorization: {
        nonce: proof.nonce,
        amount: '10.00',
        capture_deadline: deadline,
        capture_seconds_left: 600,
        status: 'authorized',
      },
    })
    const { body: mandate } = await service.call('GET', `/mandates/${purchase.mandateId}`)
    assert.deepEqual(
      [mandate.spent_total, mandate.held_total, mandate.authorized_total, mandate.remaining_budget],
      ['0.00', '0.00', '10.00', '10.00'],
    )
    const record = await service.call('GET', `/v1/payments/proofs/${proof.nonce}`, { key })
    assert.deepEqual([record.body.status, record.body.capture_deadline], ['authorized', deadline])

    const captured = await capture(proof.nonce, { amount: '4.5' }, { key })
    assert.equal(captured.status, 200, captured.text)
    const { transaction_id: id, ...answer } = captured.body
    assert.deepEqual(answer, { verified: true, amount: '4.50' })
    assert.deepEqual(await readSums(service, purchase), ['4.50', '0.00', '5.50'])
    const transaction = await service.call('GET', `/v1/transactions/${id}`)
    assert.deepEqual([transaction.body.status, transaction.body.amount], ['paid', '4.50'])
  })
}

test('An agent cannot authorize, capture or void, and another account sees nothing', async () => {
  const purchase = await preparePurchase(service)
  const proof = await issueProof(service, purchase)
  const stranger = await createTenant(service)
  await changingNothing(service, async () => {
    assert.equal((await authorize(proof, {}, { key: keys.agent })).status, 403)
    const refused = await authorize(proof, {}, { key: stranger.sandboxKey })
    assert.deepEqual([refused.status, refused.body], [403, { detail: 'seller_not_yours' }])
  })
  await authorize(proof)
  await changingNothing(service, async () => {
    for (const act of [
      capture(proof.nonce, {}, { key: keys.agent }),
      voidAuthorization(proof.nonce, { key: keys.agent }),
    ])
      assert.equal((await act).status, 403)
    for (const act of [
      capture(proof.nonce, {}, { key: stranger.sandboxKey }),
      voidAuthorization(proof.nonce, { key: stranger.sandboxKey }),
      capture('unknown'),
      voidAuthorization('unknown'),
    ]) {
      const { status, text } = await act
      assert.deepEqual([status, text], [404, '{"detail":"not_found"}'])
    }
  })
})

test('A refused proof cannot be authorized, for the same reasons as a verification', async () => {
  const purchase = await preparePurchase(service)
  const proof = await issueProof(service, purchase)
  await changingNothing(service, async () => {
    for (const [sent, body, reason] of [
      [proof, { expected_amount: '1.0' }, 'amount_mismatch'],
      [{ ...proof, resource: 'https://api.example.com/other' }, {}, 'invalid_signature'],
    ] as const) {
      const { status, body: answer } = await authorize(sent, body)
      assert.deepEqual([status, answer], [402, { authorized: false, reason }])
    }
  })
  await authorize(proof)
  const again = await authorize(proof)
  assert.deepEqual([again.status, again.body.reason], [402, 'nonce_reused'])
  const verified = await verifyProof(service, proof)
  assert.deepEqual([verified.status, verified.body], [402, { verified: false, reason: 'nonce_reused' }])
  const late = await issueProof(service, purchase)
  service.clock.nowMs += 300_001
  const expired = await authorize(late, {}, { headers: { 'idempotency-key': 'late' } })
  assert.deepEqual([expired.status, expired.body.reason], [402, 'proof_expired'])
})

test('A lost answer can be repeated with its key, even after the proof’s window', async () => {
  const purchase = await preparePurchase(service)
  const proof = await issueProof(service, purchase, '2.00')
  const options = { headers: { 'idempotency-key': 'order 1' } }
  const first = await authorize(proof, {}, options)
  service.clock.nowMs += 400_000
  const again = await authorize(proof, {}, options)
  assert.deepEqual([again.status, again.headers.get('idempotent-replayed')], [200, 'true'])
  // Only the time that is left is another.
  const { authorization } = first.body
  assert.equal(authorization.capture_seconds_left, 600)
  assert.deepEqual(again.body, {
    authorized: true,
    authorization: { ...authorization, capture_seconds_left: 200 },
  })
  const captured = await capture(proof.nonce, { amount: '1.00' }, options)
  const repeated = await capture(proof.nonce, { amount: '1.00' }, options)
  assert.deepEqual(
    [repeated.status, repeated.text, repeated.headers.get('idempotent-replayed')],
    [200, captured.text, 'true'],
  )
  const other = await capture(proof.nonce)
  assert.deepEqual([other.status, other.body], [409, { detail: 'already_captured' }])
  assert.deepEqual((await readSums(service, purchase))[0], '1.00')
})

test('An authorization ends by a void or at its deadline, and can then never be charged', async () => {
  const purchase = await preparePurchase(service, { max_capture_seconds: 60 })
  const [voided, overdue] = [await issueProof(service, purchase), await issueProof(service, purchase)]
  for (const proof of [voided, overdue]) await authorize(proof, { capture_seconds: 86_400 })
  const answer = await voidAuthorization(voided.nonce)
  assert.deepEqual([answer.status, answer.body.status], [200, 'voided'])
  const agentsVoid = await service.call('POST', `/v1/payments/proofs/${overdue.nonce}/void`)
  assert.deepEqual([agentsVoid.status, agentsVoid.body], [409, { detail: 'proof_authorized' }])
  // Past every deadline, also those of other tests.
  service.clock.nowMs += 86_400_001
  // Releases the amount, which a sweep could do at any moment.
  const ended = await voidAuthorization(overdue.nonce)
  await untilSwept()
  assert.deepEqual([ended.status, ended.body.status], [200, 'expired'])
  await changingNothing(service, async () => {
    for (const [nonce, detail] of [
      [voided.nonce, 'authorization_voided'],
      [overdue.nonce, 'authorization_expired'],
    ] as const) {
      const refused = await capture(nonce)
      assert.deepEqual([refused.status, refused.body], [409, { detail }])
    }
  })
  const { body: mandate } = await service.call('GET', `/mandates/${purchase.mandateId}`)
  assert.deepEqual([mandate.authorized_total, mandate.max_capture_seconds], ['0.00', 60])
})

test('A merchant of another account collects in two steps, and both accounts have the transaction', async () => {
  const merchant = await createMerchant(service, 'shop.example.com')
  const purchase = await preparePurchase(service, { allowed_sellers: ['shop.example.com'] })
  const shop = { ...purchase, resourceUrl: 'https://shop.example.com/data' }
  const proof = await issueProof(service, shop, '3.00')
  const key = merchant.merchantKey
  const authorized = await authorize(proof, { merchant_domain: 'shop.example.com' }, { key })
  assert.equal(authorized.status, 200, authorized.text)
  const record = await service.call('GET', `/v1/payments/proofs/${proof.nonce}`, { key })
  assert.equal(record.body.status, 'authorized')
  const captured = await capture(proof.nonce, { amount: '2.00' }, { key })
  assert.equal(captured.status, 200, captured.text)
  for (const reader of [key, service.sandboxKey]) {
    const { body } = await service.call('GET', `/v1/transactions/${captured.body.transaction_id}`, {
      key: reader,
    })
    assert.deepEqual([body.amount, body.merchant_domain], ['2.00', 'shop.example.com'])
  }
})

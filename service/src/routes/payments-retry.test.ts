import assert from 'node:assert/strict'
import { after, test } from 'node:test'

import type { Proof } from '@purser/wire/payments'

import { assertLedgerAddsUp, changingNothing, readLedger, readSums } from '../../testing/ledger.ts'
import { change, createMerchant, registerSeller } from '../../testing/purchases.ts'
import { sendPlain } from '../../testing/http/plain-http.ts'
import {
  askForProof,
  issueKey,
  issueProof,
  merchantDomain,
  preparePurchase,
  verifyProof,
  type TestAnswer,
  type TestService,
  startTestService,
} from '../../testing/service.ts'
import { shareTestService } from '../../testing/shared-service.ts'

const minuteMs = 60_000
const service = await startTestService({ after })
const purchase = await preparePurchase(service, { max_spend_total: '100000.00', allowed_sellers: ['*'] })

test('The same caller with the same proof and Idempotency-Key gets the first answer again', async () => {
  const proof = await issueProof(service, purchase)
  const first = await retry(proof, 'order-1')
  assert.equal(first.status, 200)
  assert.equal(first.headers.get('idempotent-replayed'), null)
  await changingNothing(service, async () => {
    for (let count = 0; count < 3; count++) assertReplayed(await retry(proof, 'order-1'), first)
    const spelledOtherwise = await retry(proof, 'order-1', { merchant_domain: 'API.example.COM.' })
    assertReplayed(spelledOtherwise, first)
  })
})

test('The first answer is repeated even after the window has closed and the agent and mandate are revoked', async () => {
  const service = await shareTestService()
  const purchase = await preparePurchase(service)
  const proof = await issueProof(service, purchase)
  const options = { headers: { 'idempotency-key': 'k' } }
  const first = await verifyProof(service, proof, {}, options)
  assert.equal(first.status, 200)
  await change(service, `/mandates/${purchase.mandateId}/revoke`)
  await change(service, `/agents/${purchase.agentId}/revoke`)
  assertReplayed(await verifyProof(service, proof, {}, options), first)
  for (const laterMs of [5 * minuteMs, 1, minuteMs, 24 * 60 * minuteMs]) {
    service.clock.nowMs += laterMs
    assertReplayed(await verifyProof(service, proof, {}, options), first)
  }
  const merchantKey = await issueKey(service, { role: 'merchant' })
  const late = [
    await verifyProof(service, proof),
    await verifyProof(service, proof, {}, { headers: { 'idempotency-key': 'other' } }),
    await verifyProof(service, proof, {}, { ...options, key: merchantKey }),
    await verifyProof(service, proof, { merchant_domain: 'other.example' }, options),
    await verifyProof(service, proof, { expected_amount: '2.00' }, options),
    await verifyProof(service, { ...proof, signature: '0'.repeat(64) }, {}, options),
  ]
  for (const answer of late) {
    assert.deepEqual([answer.status, answer.body], [402, { verified: false, reason: 'proof_expired' }])
  }
  assert.equal((await readLedger(service)).transactions.length, 1)
})

test('Any other reuse of the nonce is nonce_reused [verify.step.4] [limits.nonce]', async () => {
  const proof = await issueProof(service, purchase)
  assert.equal((await retry(proof, 'order-2')).status, 200)
  const sameAccount = await issueKey(service, { role: 'operator' })
  await changingNothing(service, async () => {
    const reuses: readonly TestAnswer[] = [
      await verifyProof(service, proof),
      await retry(proof, 'order-3'),
      await retry(proof, 'ORDER-2'),
      await retry(proof, 'order-2', {}, sameAccount),
      await retry(proof, 'order-2', { merchant_domain: 'other.example' }),
    ]
    for (const answer of reuses) {
      assert.deepEqual([answer.status, answer.body], [402, { verified: false, reason: 'nonce_reused' }])
      assert.equal(answer.headers.get('idempotent-replayed'), null)
    }
  })
})

test('A payment made without an Idempotency-Key is never replayed', async () => {
  const proof = await issueProof(service, purchase)
  assert.equal((await verifyProof(service, proof)).status, 200)
  assert.equal((await retry(proof, 'order-4')).body.reason, 'nonce_reused')
})

test('A retry must still pass steps 2 and 3 [verify.order]', async () => {
  const proof = await issueProof(service, purchase)
  assert.equal((await retry(proof, 'order-5')).status, 200)
  const mismatch = await retry(proof, 'order-5', { expected_amount: '1.0' })
  assert.equal(mismatch.body.reason, 'amount_mismatch')
  const forged = await retry({ ...proof, signature: '0'.repeat(64) }, 'order-5')
  assert.equal(forged.body.reason, 'invalid_signature')
})

test('A failure is not stored under its Idempotency-Key: a retry may succeed', async () => {
  const proof = await issueProof(service, purchase)
  assert.equal((await retry(proof, 'order-6', { expected_amount: '2.00' })).status, 402)
  const second = await retry(proof, 'order-6')
  assert.equal(second.status, 200)
  assert.equal(second.headers.get('idempotent-replayed'), null)
})

test('Another proof with the same Idempotency-Key is another payment', async () => {
  const first = await retry(await issueProof(service, purchase), 'order-7')
  const second = await retry(await issueProof(service, purchase), 'order-7')
  assert.deepEqual([first.status, second.status], [200, 200])
  assert.notEqual(second.body.transaction_id, first.body.transaction_id)
  assert.equal(second.headers.get('idempotent-replayed'), null)
})

test('If retries race, one pays and the others replay its answer [verify.step.6]', async (context) => {
  const service = await startTestService(context)
  const purchase = await preparePurchase(service)
  const proof = await issueProof(service, purchase)
  const options = { headers: { 'idempotency-key': 'race' } }
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => verifyProof(service, proof, {}, options)),
  )
  assert.equal(new Set(answers.map(({ text }) => text)).size, 1)
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200])
  const replays = answers.filter(({ headers }) => headers.get('idempotent-replayed') === 'true')
  assert.equal(replays.length, 19)
  assert.deepEqual(await readSums(service, purchase), ['1.00', '0.00', '99.00'])
  await assertLedgerAddsUp(service)
})

test('A collector of another account can retry just as safely', async (context) => {
  const service = await startTestService(context)
  const purchase = await preparePurchase(service)
  const merchant = await createMerchant(service)
  const proof = await issueProof(service, purchase)
  const options = { key: merchant.merchantKey, headers: { 'idempotency-key': 'k' } }
  const first = await verifyProof(service, proof, {}, options)
  assert.equal(first.status, 200)
  service.clock.nowMs += 10 * minuteMs
  assertReplayed(await verifyProof(service, proof, {}, options), first)
  assert.equal((await readLedger(service, merchant.ownerKey)).transactions.length, 1)
})

const badKeys: readonly (readonly [what: string, key: string])[] = [
  ['empty', ''],
  ['over 255 characters', 'k'.repeat(256)],
  ['not ASCII', 'clé'],
  ['with a control character', 'a\tb'],
]
for (const [what, key] of badKeys) {
  test(`An Idempotency-Key that is ${what} is 400 invalid_idempotency_key and charges nothing`, async () => {
    const proof = await issueProof(service, purchase)
    const answer = await changingNothing(service, () => retry(proof, key))
    assert.equal(answer.status, 400)
    assert.equal(answer.text, '{"detail":"invalid_idempotency_key"}')
    assert.equal((await verifyProof(service, proof)).status, 200)
  })
}

test('Two Idempotency-Key headers are 400 invalid_idempotency_key and charge nothing', async () => {
  const proof = await issueProof(service, purchase)
  const answer = await changingNothing(service, () =>
    sendPlain(service.url, {
      method: 'POST',
      path: '/v1/payments/verify',
      headers: {
        authorization: `Bearer ${service.sandboxKey}`,
        'content-type': 'application/json',
        'idempotency-key': ['order-1', 'order-2'],
      },
      body: JSON.stringify({ proof, merchant_domain: merchantDomain, expected_amount: proof.amount }),
    }),
  )
  assert.deepEqual([answer.status, answer.text], [400, '{"detail":"invalid_idempotency_key"}'])
  assert.equal((await verifyProof(service, proof)).status, 200)
})

test('An Idempotency-Key may have 1 to 255 printable characters', async () => {
  for (const key of ['k', 'k'.repeat(255), 'with a space', 'a, b', '"quoted"', '!~']) {
    assert.equal((await retry(await issueProof(service, purchase), key)).status, 200, key)
  }
})

test('The status of an open proof says when its hold ends', async () => {
  const proof = await issueProof(service, purchase, '2.5')
  assert.deepEqual((await lookUp(service, proof)).body, {
    nonce: proof.nonce,
    status: 'open',
    agent_id: purchase.agentId,
    mandate_id: purchase.mandateId,
    amount: '2.5',
    currency: 'USDC',
    resource: purchase.resourceUrl,
    issued_at: '2026-11-20T12:00:00.000Z',
    expires_at: '2026-11-20T12:06:00.000Z',
    capture_deadline: null,
    transaction_id: null,
    captured_amount: null,
    order_id: null,
  })
})

test('The status of a captured proof names its transaction', async () => {
  const proof = await issueProof(service, purchase)
  const open = await lookUp(service, proof)
  const { body } = await verifyProof(service, proof)
  const captured = await changingNothing(service, () => lookUp(service, proof))
  assert.deepEqual(captured.body, {
    ...open.body,
    status: 'captured',
    transaction_id: body.transaction_id,
    captured_amount: proof.amount,
  })
})

test('The status of a proof is expired after six minutes and voided after a stop', async () => {
  const service = await shareTestService()
  const purchase = await preparePurchase(service)
  const [proof, paid] = [await issueProof(service, purchase), await issueProof(service, purchase)]
  await verifyProof(service, paid)
  service.clock.nowMs += 6 * minuteMs - 1
  assert.equal((await lookUp(service, proof)).body.status, 'open')
  service.clock.nowMs += 1
  assert.equal((await lookUp(service, proof)).body.status, 'expired')
  assert.equal((await askForProof(service, purchase)).status, 201)
  assert.equal((await lookUp(service, proof)).body.status, 'expired')
  const stopped = await issueProof(service, purchase)
  await change(service, `/mandates/${purchase.mandateId}/pause`)
  assert.equal((await lookUp(service, stopped)).body.status, 'voided')
  assert.equal((await lookUp(service, stopped)).body.transaction_id, null)
  assert.equal((await lookUp(service, proof)).body.status, 'expired')
  assert.equal((await lookUp(service, paid)).body.status, 'captured')
  service.clock.nowMs += 60 * minuteMs
  assert.equal((await lookUp(service, stopped)).body.status, 'voided')
})

test('A proof is visible to its owner, its agent and its merchant only', async (context) => {
  const service = await startTestService(context)
  const purchase = await preparePurchase(service)
  const other = await preparePurchase(service)
  const merchant = await createMerchant(service)
  const stranger = await createMerchant(service, 'stranger.example')
  const keyOf = (fields: Record<string, unknown>) => issueKey(service, fields)
  const keys = {
    operator: service.sandboxKey,
    owner: await keyOf({ role: 'owner' }),
    agent: await keyOf({ role: 'agent', agent_id: purchase.agentId }),
    otherAgent: await keyOf({ role: 'agent', agent_id: other.agentId }),
    ownMerchant: await keyOf({ role: 'merchant' }),
    collector: merchant.merchantKey,
    collectorsOwner: merchant.ownerKey,
    stranger: stranger.ownerKey,
    strangersMerchant: stranger.merchantKey,
    production: service.productionKey,
  }
  const unknown = await service.call('GET', '/v1/payments/proofs/01890a5d-ac96-774b-bcce-b302099a8057')
  assert.deepEqual([unknown.status, unknown.text], [404, '{"detail":"not_found"}'])

  async function assertSeenBy(proof: Proof, who: readonly (keyof typeof keys)[]): Promise<void> {
    const owners = await lookUp(service, proof)
    for (const [name, key] of Object.entries(keys)) {
      const answer = await lookUp(service, proof, key)
      const expected = who.includes(name as keyof typeof keys) ? owners : unknown
      assert.deepEqual([answer.status, answer.text], [expected.status, expected.text], name)
    }
  }
  const proof = await issueProof(service, purchase)
  await assertSeenBy(proof, ['operator', 'owner', 'agent', 'ownMerchant'])
  await verifyProof(service, proof, {}, { key: merchant.merchantKey })
  await assertSeenBy(proof, ['operator', 'owner', 'agent', 'collector', 'collectorsOwner'])

  const anywhere = await preparePurchase(service, { allowed_sellers: ['*'] })
  await registerSeller(service, 'own.example')
  const own = await issueProof(service, anywhere)
  await verifyProof(service, own, { merchant_domain: 'own.example' })
  await assertSeenBy(own, ['operator', 'owner', 'ownMerchant'])
  assert.equal((await lookUp(service, own, '')).status, 401)
})

function retry(
  proof: Proof,
  idempotencyKey: string,
  fields: Record<string, unknown> = {},
  key: string = service.sandboxKey,
): Promise<TestAnswer> {
  return verifyProof(service, proof, fields, { key, headers: { 'idempotency-key': idempotencyKey } })
}

function assertReplayed(answer: TestAnswer, first: TestAnswer): void {
  assert.deepEqual([answer.status, answer.text], [200, first.text])
  assert.equal(answer.headers.get('idempotent-replayed'), 'true')
}

function lookUp(service: TestService, proof: Proof, key: string = service.sandboxKey): Promise<TestAnswer> {
  return service.call('GET', `/v1/payments/proofs/${proof.nonce}`, { key })
}

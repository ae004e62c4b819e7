import assert from 'node:assert/strict'
import { after, test } from 'node:test'

import { changingNothing, readSums } from '../../testing/ledger.ts'
import {
  askForProof,
  issueKey,
  preparePurchase,
  startTestService,
  verifyProof,
  type Purchase,
} from '../../testing/service.ts'

const service = await startTestService({ after })

function ask(purchase: Purchase, idempotencyKey: string, amount = '1.00', key = service.sandboxKey) {
  return askForProof(service, purchase, amount, { key, headers: { 'idempotency-key': idempotencyKey } })
}

test('The same request with the same Idempotency-Key gets the same proof, byte by byte, and holds once', async () => {
  const purchase = await preparePurchase(service)
  const first = await ask(purchase, 'order-1')
  assert.equal(first.status, 201, first.text)
  assert.equal(first.headers.get('idempotent-replayed'), null)
  service.clock.nowMs += 1_000
  await changingNothing(service, async () => {
    const again = await ask(purchase, 'order-1')
    assert.deepEqual([again.status, again.text], [201, first.text])
    assert.equal(again.headers.get('idempotent-replayed'), 'true')
  })
  assert.deepEqual(await readSums(service, purchase), ['0.00', '1.00', '100.00'])
  assert.equal((await verifyProof(service, first.body.proof)).status, 200)

  service.clock.nowMs += 23 * 3_600_000
  const late = await ask(purchase, 'order-1')
  assert.deepEqual([late.status, late.text], [201, first.text])
  service.clock.nowMs -= 23 * 3_600_000 + 1_000
})

test('Omitting the currency equals USDC, and unknown fields are ignored', async () => {
  const purchase = await preparePurchase(service)
  const headers = { 'idempotency-key': 'order-2' }
  const body = {
    agent_id: purchase.agentId,
    mandate_id: purchase.mandateId,
    amount: '1.00',
    resource_url: purchase.resourceUrl,
  }
  const first = await service.call('POST', '/v1/payments/proof', { headers, body })
  const again = await service.call('POST', '/v1/payments/proof', {
    headers,
    body: { ...body, currency: 'USDC', note: 'again' },
  })
  assert.deepEqual([again.status, again.text], [201, first.text])
})

test('Another request with the same key is 422 idempotency_key_reused, and holds nothing', async () => {
  const purchase = await preparePurchase(service)
  assert.equal((await ask(purchase, 'order-3')).status, 201)
  await changingNothing(service, async () => {
    for (const amount of ['2.00', '1.0']) {
      const other = await ask(purchase, 'order-3', amount)
      assert.deepEqual([other.status, other.body], [422, { detail: 'idempotency_key_reused' }])
    }
  })
})

test("Another caller's key is a different key", async () => {
  const purchase = await preparePurchase(service)
  const agentKey = await issueKey(service, { role: 'agent', agent_id: purchase.agentId })
  const first = await ask(purchase, 'order-4')
  const other = await ask(purchase, 'order-4', '2.00', agentKey)
  assert.deepEqual([first.status, other.status], [201, 201])
  assert.notEqual(other.body.proof.nonce, first.body.proof.nonce)
})

test('An invalid Idempotency-Key is 400, and nothing is held', async () => {
  const purchase = await preparePurchase(service)
  for (const key of ['', 'a'.repeat(256), 'naïve']) {
    const { status, body } = await ask(purchase, key)
    assert.deepEqual([status, body], [400, { detail: 'invalid_idempotency_key' }], key)
  }
  assert.equal((await ask(purchase, 'a'.repeat(255))).status, 201)
  assert.deepEqual(await readSums(service, purchase), ['0.00', '1.00', '100.00'])
})

test('Without a key, two equal requests create two proofs', async () => {
  const purchase = await preparePurchase(service)
  const [first, second] = [await askForProof(service, purchase), await askForProof(service, purchase)]
  assert.notEqual(first.body.proof.nonce, second.body.proof.nonce)
  assert.deepEqual(await readSums(service, purchase), ['0.00', '2.00', '100.00'])
})

test('An order is paid once: the same request gets the same proof, a different one 409, and a paid one 409', async () => {
  const purchase = await preparePurchase(service)
  const ask = (fields: Readonly<Record<string, unknown>> = {}) =>
    service.call('POST', '/v1/payments/proof', {
      body: {
        agent_id: purchase.agentId,
        mandate_id: purchase.mandateId,
        amount: '1.00',
        resource_url: purchase.resourceUrl,
        order_id: 'order-1001',
        ...fields,
      },
    })
  const first = await ask()
  const again = await ask()
  assert.deepEqual(
    [again.status, again.text, again.headers.get('idempotent-replayed')],
    [201, first.text, 'true'],
  )
  assert.deepEqual(await readSums(service, purchase), ['0.00', '1.00', '100.00'])
  const mismatch = await ask({ amount: '2.00' })
  assert.deepEqual([mismatch.status, mismatch.body], [409, { detail: 'order_mismatch' }])
  const { nonce } = first.body.proof
  assert.equal((await service.call('GET', `/v1/payments/proofs/${nonce}`)).body.order_id, 'order-1001')
  const paid = await verifyProof(service, first.body.proof)
  const transaction = await service.call('GET', `/v1/transactions/${paid.body.transaction_id}`)
  assert.equal(transaction.body.order_id, 'order-1001')
  const over = await ask()
  assert.deepEqual([over.status, over.body], [409, { detail: 'order_already_paid' }])
  for (const order_id of ['', 'x'.repeat(101)]) assert.equal((await ask({ order_id })).status, 422)
  assert.equal((await ask({ order_id: null })).status, 201)
})

test('A key that gets the proof of its order is recorded: it gets the same proof whatever becomes of it', async () => {
  const purchase = await preparePurchase(service)
  const ask = (key: string, fields: Readonly<Record<string, unknown>> = {}) =>
    service.call('POST', '/v1/payments/proof', {
      headers: { 'idempotency-key': key },
      body: {
        agent_id: purchase.agentId,
        mandate_id: purchase.mandateId,
        amount: '1.00',
        resource_url: purchase.resourceUrl,
        order_id: 'order-2002',
        ...fields,
      },
    })
  const first = await ask('first-key')
  assert.equal((await ask('second-key')).text, first.text)
  await verifyProof(service, first.body.proof)
  for (const key of ['first-key', 'second-key']) {
    const again = await ask(key)
    assert.deepEqual([again.status, again.text], [201, first.text], key)
    assert.equal((await ask(key, { order_id: 'another' })).status, 422, key)
  }
  const third = await ask('third-key')
  assert.deepEqual([third.status, third.body], [409, { detail: 'order_already_paid' }])
})

test('An order whose proof the narrowed mandate refuses gets the answer of the mandate, and that proof is never charged', async () => {
  const purchase = await preparePurchase(service)
  const ask = () =>
    service.call('POST', '/v1/payments/proof', {
      body: {
        agent_id: purchase.agentId,
        mandate_id: purchase.mandateId,
        amount: '1.00',
        resource_url: purchase.resourceUrl,
        order_id: 'order-3003',
      },
    })
  const allow = async (version: number, allowed_resources: string[]) => {
    const headers = { 'if-match': `"${version}"` }
    const path = `/v1/mandates/${purchase.mandateId}`
    assert.equal((await service.call('PATCH', path, { body: { allowed_resources }, headers })).status, 200)
  }
  const { proof } = (await ask()).body
  await allow(1, ['https://other.example.com/*'])
  const refused = await ask()
  assert.deepEqual([refused.status, refused.body.reason_code], [402, 'resource_not_allowed'])
  assert.equal((await service.call('GET', `/mandates/${purchase.mandateId}`)).body.held_total, '0.00')
  await allow(2, [purchase.resourceUrl])
  const another = await ask()
  assert.equal(another.status, 201)
  assert.equal((await verifyProof(service, proof)).body.reason, 'proof_expired')
  assert.equal((await verifyProof(service, another.body.proof)).status, 200)
})

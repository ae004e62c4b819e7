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

test('A key of another caller is another key', async () => {
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

test('Without a key two equal requests make two proofs', async () => {
  const purchase = await preparePurchase(service)
  const [first, second] = [await askForProof(service, purchase), await askForProof(service, purchase)]
  assert.notEqual(first.body.proof.nonce, second.body.proof.nonce)
  assert.deepEqual(await readSums(service, purchase), ['0.00', '2.00', '100.00'])
})

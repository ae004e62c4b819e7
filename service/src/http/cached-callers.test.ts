import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'

import type { Proof } from '@purser/wire/payments'

import { serviceStores, type ServiceStore } from '../../testing/service-stores.ts'
import {
  issueProof,
  preparePurchase,
  startTestService,
  verifyProof,
  type TestAnswer,
  type TestService,
} from '../../testing/service.ts'

// Decision 19: on PostgreSQL the transaction of a verification checks the key. Here a key that one process has cached
// is revoked by another process; afterwards every request with it must be refused like one with an unknown key.

interface Attempt {
  readonly service: TestService
  readonly key: string
  /** An open proof of 1.00. */
  readonly proof: Proof
  /** Paid with this key and the idempotency key `order-1`. */
  readonly paid: Proof
}

const attempts: Readonly<Record<string, (attempt: Attempt) => Promise<TestAnswer>>> = {
  'a good proof': ({ service, key, proof }) => verifyProof(service, proof, {}, { key }),
  'a valid proof and an idempotency key': ({ service, key, proof }) =>
    verifyProof(service, proof, {}, { key, headers: { 'idempotency-key': 'order-2' } }),
  'an earlier payment': ({ service, key, paid }) =>
    verifyProof(service, paid, {}, { key, headers: { 'idempotency-key': 'order-1' } }),
  'a used proof': ({ service, key, paid }) => verifyProof(service, paid, {}, { key }),
  'a wrong amount': ({ service, key, proof }) =>
    verifyProof(service, proof, { expected_amount: '2.00' }, { key }),
  'a wrong signature': ({ service, key, proof }) =>
    verifyProof(service, { ...proof, signature: 'f'.repeat(proof.signature.length) }, {}, { key }),
  'a merchant that is not allowed': ({ service, key, proof }) =>
    verifyProof(service, proof, { merchant_domain: 'other.example' }, { key }),
  'a bad idempotency key': ({ service, key, proof }) =>
    verifyProof(service, proof, {}, { key, headers: { 'idempotency-key': 'x'.repeat(300) } }),
  'a body without a field': ({ service, key }) =>
    service.call('POST', '/v1/payments/verify', { key, body: { proof: {} } }),
  'a body that is not JSON': ({ service, key }) =>
    service.call('POST', '/v1/payments/verify', {
      key,
      raw: '{',
      headers: { 'content-type': 'application/json' },
    }),
  'a body that is too large': ({ service, key }) =>
    service.call('POST', '/v1/payments/verify', { key, raw: ' '.repeat(3_000_000) }),
}

for (const store of serviceStores.filter(({ name }) => name !== 'SQLite')) {
  const skip = store.missing ?? false
  test(
    `On ${store.name} a key revoked by another process is refused, whatever the request [auth.1]`,
    { skip },
    async (context) => {
      const { first, second } = await startTwo(context, store)
      const purchase = await preparePurchase(first)
      for (const [title, attempt] of Object.entries(attempts)) {
        const { key, revoke } = await issue(first, { role: 'merchant' })
        const [proof, paid] = [await issueProof(first, purchase), await issueProof(first, purchase)]
        const order = { key, headers: { 'idempotency-key': 'order-1' } }
        assert.equal((await verifyProof(first, paid, {}, order)).status, 200, title)

        await revoke(second)
        for (const time of ['first', 'second']) {
          const answer = await attempt({ service: first, key, proof, paid })
          assert.deepEqual(
            [answer.status, answer.body],
            [401, { detail: 'invalid_api_key' }],
            `${title}, ${time}`,
          )
          assert.match(answer.headers.get('www-authenticate') ?? '', /^Bearer/)
        }
        const { body } = await first.call('GET', `/v1/payments/proofs/${proof.nonce}`)
        assert.equal(body.status, 'open', title)
        assert.equal((await verifyProof(first, proof)).status, 200, `${title}: the proof is still usable`)
      }
    },
  )

  test(
    `On ${store.name} a cached key without the role gets 403 only while it is valid [auth.2]`,
    { skip },
    async (context) => {
      const { first, second } = await startTwo(context, store)
      const purchase = await preparePurchase(first)
      const { key, revoke } = await issue(first, { role: 'agent', agent_id: purchase.agentId })
      const proof = await issueProof(first, purchase)
      for (let time = 0; time < 2; time++)
        assert.equal((await verifyProof(first, proof, {}, { key })).status, 403)
      await revoke(second)
      for (let time = 0; time < 2; time++)
        assert.equal((await verifyProof(first, proof, {}, { key })).status, 401)
    },
  )

  test(`On ${store.name} a verification records the last use of its key`, { skip }, async (context) => {
    const { first, settings } = await startTwo(context, store)
    const purchase = await preparePurchase(first)
    const { key } = await issue(first, { role: 'merchant', label: 'shop' })
    for (let time = 0; time < 3; time++) {
      first.clock.nowMs += 3_600_000
      const proof = await issueProof(first, purchase)
      assert.equal((await verifyProof(first, proof, {}, { key })).status, 200)
    }
    await first.stop()
    const again = await startTestService(context, settings)
    const { body } = await again.call('GET', '/v1/console/api-keys', { key: first.sandboxKey })
    const [shop] = (body as { label: string; last_used_at: string }[]).filter(({ label }) => label === 'shop')
    assert.equal(Date.parse(shop?.last_used_at ?? ''), first.clock.nowMs)
  })
}

/** Two services on one ledger. */
async function startTwo(context: TestContext, store: ServiceStore) {
  const { settings, discard } = await store.open()
  const first = await startTestService(context, settings)
  const second = await startTestService(context, settings)
  context.after(discard)
  return { first, second, settings }
}

/** A key with a role, and a function that revokes it. */
async function issue(service: TestService, fields: Record<string, unknown>) {
  const { status, body, text } = await service.call('POST', '/accounts/api-keys', {
    body: { environment: 'sandbox', ...fields },
  })
  assert.equal(status, 201, text)
  const revoke = async (through: TestService) => {
    const path = `/accounts/api-keys/${body.id}`
    const answer = await through.call('DELETE', path, { key: service.sandboxKey })
    assert.equal(answer.status, 200, answer.text)
  }
  return { key: body.key as string, revoke }
}

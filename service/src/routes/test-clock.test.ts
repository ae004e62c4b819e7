import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'

import { authorizeProof, createMerchant } from '../../testing/purchases.ts'
import { serviceStores, startServiceOn } from '../../testing/service-stores.ts'
import {
  askForProof,
  createTenant,
  issueKey,
  issueProof,
  preparePurchase,
  verifyProof,
  type TestService,
  startTestService,
} from '../../testing/service.ts'
import { shareTestService } from '../../testing/shared-service.ts'

const day = 24 * 3_600
const sales = 'sales.example.com'

for (const { name, missing, open } of serviceStores) {
  test(
    `On ${name} a month of limits, windows, deadlines and expiries passes in a second`,
    {
      skip: missing ?? false,
    },
    async (t) => {
      const ledger = await open()
      const settings = { ...ledger.settings, PURSER_PROOF_SECRET: randomBytes(32).toString('hex') }
      const service = await startTestService(t, settings)
      t.after(ledger.discard)
      // A second process on the same ledger, as far as the ledger allows one.
      const other = name === 'SQLite' ? service : await startTestService(t, settings)
      other.clock.nowMs = service.clock.nowMs

      assert.deepEqual((await clock(service)).body, { now: '2026-11-20T12:00:00.000Z', offset_seconds: 0 })
      const purchase = await preparePurchase(service, {
        limits: [{ window: { calendar: 'day', time_zone: 'UTC' }, max_amount: '5.00' }],
      })
      const first = await issueProof(service, purchase, '5.00')
      const idle = await preparePurchase(service)
      const unused = await issueProof(service, idle, '4.00')
      assert.equal((await verifyProof(service, first)).status, 200)
      const over = await askForProof(service, purchase, '1.00')
      assert.deepEqual(
        [over.status, over.body.reason_code, over.body.limit.resets_at],
        [402, 'velocity_limit_exceeded', '2026-11-21T00:00:00.000Z'],
      )

      // A day later: the daily cap starts again, and the proof that was not used has expired.
      assert.deepEqual((await advance(service, day)).body, {
        now: '2026-11-21T12:00:00.000Z',
        offset_seconds: day,
      })
      assert.equal(
        (await verifyProof(other, unused, {}, { key: service.sandboxKey })).body.reason,
        'proof_expired',
      )
      const second = await askForProof(other, purchase, '5.00', { key: service.sandboxKey })
      assert.equal(second.status, 201, second.text)
      assert.equal(second.body.proof.timestamp, '2026-11-21T12:00:00.000+00:00')
      const paid = await verifyProof(service, second.body.proof)
      assert.deepEqual([paid.status, paid.body.verified], [200, true], paid.text)
      const { body: transaction } = await service.call('GET', `/v1/transactions/${paid.body.transaction_id}`)
      assert.equal(transaction.created_at, '2026-11-21T12:00:00.000Z')
      const listed = await service.call('GET', '/v1/transactions?created_from=2026-11-21T00:00:00Z')
      assert.deepEqual(
        listed.body.map(({ id }: { id: string }) => id),
        [paid.body.transaction_id],
      )
      const earlier = await service.call(
        'GET',
        '/v1/transactions?created_to=2026-11-21T00:00:00Z&status=paid',
      )
      assert.equal(earlier.body.length, 1)

      // A limit that is added counts what was paid in its period, by the test clock.
      const amended = await service.call('PATCH', `/v1/mandates/${idle.mandateId}`, {
        headers: { 'if-match': '"1"' },
        body: { limits: [{ window: { calendar: 'day', time_zone: 'UTC' }, max_amount: '3.00' }] },
      })
      assert.equal(amended.status, 200, amended.text)

      // The window of a proof ends, and so does the deadline of an authorization.
      const windowed = await issueProof(service, idle, '1.00')
      const authorized = await authorizeProof(service, await issueProof(service, idle, '1.00'))
      assert.equal(authorized.status, 200, authorized.text)
      assert.equal(authorized.body.authorization.capture_deadline, '2026-11-21T12:10:00.000Z')
      assert.equal(authorized.body.authorization.capture_seconds_left, 600)
      await advance(service, 301)
      assert.equal((await verifyProof(service, windowed)).body.reason, 'proof_expired')
      const { nonce } = authorized.body.authorization
      await advance(service, 300)
      const late = await service.call('POST', `/v1/payments/${nonce}/capture`, { body: {} })
      assert.deepEqual([late.status, late.body.detail], [409, 'authorization_expired'])
      assert.equal((await service.call('GET', `/v1/payments/proofs/${nonce}`)).body.status, 'expired')

      // A mandate expires.
      const short = await preparePurchase(service, { expires_at: '2026-12-01T00:00:00Z' })
      assert.equal((await askForProof(service, short)).status, 201)
      await advance(service, 30 * day)
      const expired = await askForProof(service, short)
      assert.equal(expired.body.reason_code, 'mandate_expired')

      // A clock that stands still, or is set back a little, never goes back by itself.
      service.clock.nowMs -= 1_000
      assert.equal((await clock(service)).body.offset_seconds, 31 * day + 601)
      const events = await service.call('GET', '/v1/audit-log?type=test_clock.advanced')
      assert.deepEqual(
        events.body.map(({ data }: { data: unknown }) => data),
        [
          { seconds: 30 * day, offset_seconds: 31 * day + 601 },
          { seconds: 300, offset_seconds: day + 601 },
          { seconds: 301, offset_seconds: day + 301 },
          { seconds: day, offset_seconds: day },
        ],
      )
    },
  )

  test(
    `On ${name} the console's "today" is the day of the test clock, payments less refunds`,
    {
      skip: missing ?? false,
    },
    async (t) => {
      const { service } = await startServiceOn(open, t)
      const purchase = await preparePurchase(service)
      const pay = async (amount: string) => {
        const paid = await verifyProof(service, await issueProof(service, purchase, amount), {
          expected_amount: amount,
        })
        assert.equal(paid.status, 200, paid.text)
        return paid.body.transaction_id as string
      }
      const today = async () => {
        const { body } = await service.call('GET', '/v1/console/overview')
        const { spent_today, paid_today, day_starts_at } = body
        return [spent_today, paid_today, day_starts_at]
      }
      await pay('1.00')
      assert.deepEqual(await today(), ['1.00', 1, '2026-11-20T00:00:00.000Z'])
      await advance(service, day)
      assert.deepEqual(await today(), ['0.00', 0, '2026-11-21T00:00:00.000Z'])
      const later = await pay('0.50')
      const refund = { body: { amount: '0.20' }, headers: { 'idempotency-key': 'first' } }
      assert.equal((await service.call('POST', `/v1/transactions/${later}/refund`, refund)).status, 201)
      assert.deepEqual(await today(), ['0.30', 1, '2026-11-21T00:00:00.000Z'])
    },
  )

  test(
    `On ${name} another account, its sales and production keep the time of the service`,
    {
      skip: missing ?? false,
    },
    async (t) => {
      const { service } = await startServiceOn(open, t)
      const shop = await createMerchant(service, sales)
      const purchase = {
        ...(await preparePurchase(service, { allowed_sellers: ['*'] })),
        resourceUrl: `https://${sales}/data`,
      }
      const stranger = await createTenant(service, 'idp_stranger')
      const theirs = await preparePurchase(service, {}, stranger.sandboxKey)
      await advance(service, 40 * day)

      const untouched = await clock(service, stranger.sandboxKey)
      assert.equal(untouched.body.offset_seconds, 0)
      const asked = await askForProof(service, theirs, '1.00', { key: stranger.sandboxKey })
      assert.equal(asked.body.proof.timestamp, '2026-11-20T12:00:00.000+00:00')
      const charged = await verifyProof(service, asked.body.proof, {}, { key: stranger.sandboxKey })
      assert.equal(charged.status, 200, charged.text)

      // A merchant of another account collects by the clock of the account that pays, and books the sale by its own.
      const proof = await issueProof(service, purchase, '2.00')
      const sold = await verifyProof(service, proof, { merchant_domain: sales }, { key: shop.merchantKey })
      assert.equal(sold.status, 200, sold.text)
      const at = async (key: string, id: string) =>
        (await service.call('GET', `/v1/transactions/${id}`, { key })).body.created_at
      const saleId = sold.body.transaction_id
      assert.deepEqual(
        [await at(service.sandboxKey, saleId), await at(shop.merchantKey, saleId)],
        ['2026-12-30T12:00:00.000Z', '2026-11-20T12:00:00.000Z'],
      )
      const refunded = await service.call('POST', `/v1/transactions/${saleId}/refund`, {
        key: shop.merchantKey,
        body: { amount: '0.50' },
        headers: { 'idempotency-key': 'return' },
      })
      assert.equal(refunded.status, 201, refunded.text)
      assert.deepEqual(
        [await at(service.sandboxKey, refunded.body.id), await at(shop.merchantKey, refunded.body.id)],
        ['2026-12-30T12:00:00.000Z', '2026-11-20T12:00:00.000Z'],
      )
      const settled = await service.call('GET', `/v1/sellers/${shop.sellerId}/settlements`, {
        key: shop.merchantKey,
      })
      assert.deepEqual(
        settled.body.days.map(({ day: date, net }: { day: string; net: string }) => [date, net]),
        [['2026-11-20', '1.50']],
      )
      const spending = await service.call('GET', '/v1/transactions?created_from=2026-12-30T00:00:00Z')
      assert.equal(spending.body.length, 2)

      const held = await authorizeProof(
        service,
        await issueProof(service, purchase, '1.00'),
        { merchant_domain: sales },
        { key: shop.merchantKey },
      )
      assert.equal(held.body.authorization?.capture_deadline, '2026-12-30T12:10:00.000Z', held.text)
      const { nonce } = held.body.authorization
      const seen = await service.call('GET', `/v1/payments/proofs/${nonce}`, { key: shop.ownerKey })
      assert.equal(seen.body.status, 'authorized', seen.text)
      await advance(service, 3_600)
      const late = await service.call('POST', `/v1/payments/${nonce}/capture`, {
        key: shop.merchantKey,
        body: {},
      })
      assert.equal(late.body.detail, 'authorization_expired')

      for (const [method, path] of [
        ['GET', '/v1/test-clock'],
        ['POST', '/v1/test-clock/advance'],
      ] as const) {
        const body = method === 'POST' ? { seconds: 1 } : undefined
        const production = await service.call(method, path, { key: service.productionKey, body })
        assert.deepEqual([production.status, production.body.detail], [400, 'sandbox_only'])
        const merchant = await service.call(method, path, { key: shop.merchantKey, body })
        assert.equal(merchant.status, 403)
      }
      const agent = await service.call('POST', '/agents', {
        key: service.productionKey,
        body: { name: 'live' },
      })
      assert.equal(agent.body.created_at, '2026-11-20T12:00:00.000Z')
    },
  )
}

test("The log of a seller's account has the release of its domain at its own time, whatever the operator's clock", async (context) => {
  const service = await startTestService(context)
  const merchant = await createMerchant(service, sales)
  await advance(service, 100 * day)
  assert.equal((await service.call('DELETE', `/sellers/domains/${sales}`)).status, 200)
  const timesOf = async (key: string) => {
    const { body } = await service.call('GET', '/v1/audit-log?type=seller.released', { key })
    return body.map(({ created_at }: { created_at: string }) => created_at)
  }
  const atMs = service.clock.nowMs
  assert.deepEqual((await timesOf(merchant.ownerKey)).map(Date.parse), [atMs])
  assert.deepEqual((await timesOf(service.sandboxKey)).map(Date.parse), [atMs + 100 * day * 1_000])
})

test('Disabling an account ends its open proofs, and records it, at the time of that account', async (context) => {
  const service = await startTestService(context)
  const tenant = await createTenant(service)
  const purchase = await preparePurchase(service, {}, tenant.sandboxKey)
  const { body } = await askForProof(service, purchase, '1.00', { key: tenant.sandboxKey })
  await service.call('POST', '/v1/test-clock/advance', {
    key: tenant.sandboxKey,
    body: { seconds: 100 * day },
  })
  const path = `/accounts/${tenant.accountId}`
  for (const verb of ['disable', 'enable']) {
    assert.equal((await service.call('PATCH', `${path}/${verb}`)).status, 200)
  }
  const atMs = service.clock.nowMs
  const timesOf = async (type: string, key: string) => {
    const { body } = await service.call('GET', `/v1/audit-log?type=${type}`, { key })
    return body.map(({ created_at }: { created_at: string }) => Date.parse(created_at))
  }
  for (const type of ['account.disabled', 'account.enabled']) {
    assert.deepEqual(await timesOf(type, tenant.sandboxKey), [atMs + 100 * day * 1_000], type)
    assert.deepEqual(await timesOf(type, service.sandboxKey), [atMs], type)
  }
  assert.deepEqual(await timesOf('proofs.voided', tenant.sandboxKey), [], 'it had expired before')
  const found = await service.call('GET', `/v1/payments/proofs/${body.proof.nonce}`, {
    key: tenant.sandboxKey,
  })
  assert.equal(found.body.status, 'expired')
})

test('A proof whose window is over by the test clock is proof_expired, even if another step would refuse it too', async () => {
  const service = await shareTestService()
  const proof = await issueProof(service, await preparePurchase(service))
  const refusal = async (fields: Record<string, unknown>) =>
    (await verifyProof(service, proof, fields)).body.reason
  assert.equal(await refusal({ expected_amount: '9.99' }), 'amount_mismatch')
  await advance(service, 301)
  assert.equal(await refusal({ expected_amount: '9.99' }), 'proof_expired')
  assert.equal(await refusal({}), 'proof_expired')
  const forged = { proof: { ...proof, amount: '9.99' }, expected_amount: '9.99' }
  assert.equal(await refusal(forged), 'invalid_signature', 'nobody has issued it')
})

test('The clock is at most ten years ahead in all, and advances by whole seconds only', async () => {
  const service = await shareTestService()
  for (const seconds of [0, -1, 0.5, 3_653 * day + 1, '60']) {
    assert.equal((await advance(service, seconds)).status, 422, String(seconds))
  }
  assert.equal((await advance(service, 3_653 * day)).status, 200)
  const further = await advance(service, 1)
  assert.deepEqual([further.status, further.body.detail], [409, 'test_clock_too_far'])
  const approver = await issueKey(service, { role: 'approver' })
  assert.equal((await clock(service, approver)).status, 200, 'an approver reads it, and cannot advance it')
  const body = { seconds: 1 }
  const refused = await service.call('POST', '/v1/test-clock/advance', { key: approver, body })
  assert.equal(refused.status, 403)
})

function advance(service: TestService, seconds: unknown) {
  return service.call('POST', '/v1/test-clock/advance', { body: { seconds } })
}

function clock(service: TestService, key = service.sandboxKey) {
  return service.call('GET', '/v1/test-clock', { key })
}

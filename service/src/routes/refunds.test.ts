import assert from 'node:assert/strict'
import { after, test } from 'node:test'

import { readCsv } from '../../testing/http/read-csv.ts'
import { changingNothing, readSums } from '../../testing/ledger.ts'
import { createMerchant, pay } from '../../testing/purchases.ts'
import { prepareRoleKeys } from '../../testing/role-keys.ts'
import {
  issueProof,
  preparePurchase,
  startTestService,
  verifyProof,
  type CallOptions,
} from '../../testing/service.ts'

const service = await startTestService({ after })
const { keys } = await prepareRoleKeys(service)
let lastKey = 0

function refund(
  transactionId: string,
  body: Readonly<Record<string, unknown>>,
  { headers = { 'idempotency-key': `return ${++lastKey}` }, ...options }: CallOptions = {},
) {
  return service.call('POST', `/v1/transactions/${transactionId}/refund`, { body, headers, ...options })
}

for (const role of ['merchant', 'owner', 'operator'] as const) {
  test(`The ${role} refunds a payment, and the refund is a transaction in the list and the CSV`, async () => {
    const purchase = await preparePurchase(service)
    const id = await pay(service, purchase, '4.00')
    const answer = await refund(id, { amount: '1.50', reason: 'Out of stock' }, { key: keys[role] })
    assert.equal(answer.status, 201, answer.text)
    const { body } = answer
    assert.deepEqual(
      [body.status, body.amount, body.refund_of, body.reason_detail, body.mandate_id, body.reason_code],
      ['refunded', '1.50', id, 'Out of stock', purchase.mandateId, null],
    )
    assert.deepEqual(await readSums(service, purchase), ['2.50', '0.00', '97.50'])
    const query = `mandate_id=${purchase.mandateId}`
    const listed = await service.call('GET', `/v1/transactions?${query}`, { key: keys[role] })
    assert.deepEqual(
      listed.body.map((one: { id: string; status: string }) => [one.id, one.status]),
      [
        [body.id, 'refunded'],
        [id, 'paid'],
      ],
    )
    const refunds = await service.call('GET', `/v1/transactions?${query}&status=refunded`)
    assert.deepEqual(refunds.body, [body])
    const csv = await service.call('GET', `/v1/transactions.csv?${query}`, { key: keys[role] })
    const [row] = readCsv(csv.text)
    assert.deepEqual([row?.['status'], row?.['amount'], row?.['refund_of']], ['refunded', '1.50', id])
    assert.deepEqual((await service.call('GET', `/v1/transactions/${body.id}`)).body, body)
    const refundedOf = async (one: string) =>
      (await service.call('GET', `/v1/transactions/${one}`, { key: keys[role] })).body
        .refunded_total as unknown
    assert.deepEqual([await refundedOf(id), await refundedOf(body.id)], ['1.50', null])
    await refund(id, { amount: '0.5' }, { key: keys[role] })
    assert.equal(await refundedOf(id), '2.00')
  })
}

test('Each refund needs its own key, and a retry with it gets the same refund', async () => {
  const purchase = await preparePurchase(service)
  const id = await pay(service, purchase, '4.00')
  await changingNothing(service, async () => {
    const without = await refund(id, { amount: '1.00' }, { headers: {} })
    assert.deepEqual([without.status, without.body], [400, { detail: 'idempotency_key_required' }])
    const wrong = await refund(id, { amount: '1.00' }, { headers: { 'idempotency-key': 'x'.repeat(256) } })
    assert.deepEqual([wrong.status, wrong.body], [400, { detail: 'invalid_idempotency_key' }])
  })
  const headers = { 'idempotency-key': 'return of order 17' }
  const first = await refund(id, { amount: '1.00' }, { headers })
  await changingNothing(service, async () => {
    const again = await refund(id, { amount: '1.00' }, { headers })
    assert.deepEqual(
      [again.status, again.text, again.headers.get('idempotent-replayed')],
      [201, first.text, 'true'],
    )
    const other = await refund(id, { amount: '2.00' }, { headers })
    assert.deepEqual([other.status, other.body], [422, { detail: 'idempotency_key_reused' }])
    for (const [transaction, amount, status, detail] of [
      [id, '3.000001', 409, 'refund_exceeds_payment'],
      [first.body.id, '0.50', 409, 'not_refundable'],
      ['unknown', '1.00', 404, 'not_found'],
    ] as const) {
      const refused = await refund(transaction, { amount })
      assert.deepEqual([refused.status, refused.body], [status, { detail }])
    }
    assert.equal((await refund(id, { amount: '0.00' })).status, 422)
    assert.equal((await refund(id, { amount: '1.00' }, { key: keys.agent })).status, 403)
  })
})

test('The console shows the refunds of a payment, and what is left of it to the account that collected it', async () => {
  const { merchantKey, ownerKey } = await createMerchant(service, 'shown.example.com')
  const detailOf = async (id: string, key = service.sandboxKey) => {
    const { body } = await service.call('GET', `/v1/console/transactions/${id}`, { key })
    return [body.refunds?.map((one: { amount: string }) => one.amount), body.refundable]
  }
  const own = await pay(service, await preparePurchase(service), '4.00')
  assert.deepEqual(await detailOf(own), [[], '4.00'])
  const made = await refund(own, { amount: '1.50', reason: 'Out of stock' })
  await refund(own, { amount: '0.25' })
  assert.deepEqual(await detailOf(own), [['1.50', '0.25'], '2.25'])
  const { body } = await service.call('GET', `/v1/console/transactions/${own}`)
  const { id, created_at } = made.body
  assert.deepEqual(body.refunds[0], { id, amount: '1.50', reason: 'Out of stock', created_at })
  assert.deepEqual(await detailOf(id), [[], null], 'a refund has none')

  const purchase = await preparePurchase(service, { allowed_sellers: ['shown.example.com'] })
  const shop = { ...purchase, resourceUrl: 'https://shown.example.com/data' }
  const fields = { merchant_domain: 'shown.example.com' }
  const paid = await verifyProof(service, await issueProof(service, shop, '3.00'), fields, {
    key: merchantKey,
  })
  const sold = paid.body.transaction_id as string
  await refund(sold, { amount: '3.00' }, { key: merchantKey })
  assert.deepEqual(await detailOf(sold), [['3.00'], null], 'the payer did not collect it')
  assert.deepEqual(await detailOf(sold, ownerKey), [['3.00'], '0.00'])
})

test('Only the account that collected a payment can refund it', async () => {
  const merchant = await createMerchant(service, 'refunds.example.com')
  const purchase = {
    ...(await preparePurchase(service, { allowed_sellers: ['refunds.example.com'] })),
    resourceUrl: 'https://refunds.example.com/data',
  }
  const { merchantKey: key } = merchant
  const proof = await service.call('POST', '/v1/payments/proof', {
    body: {
      agent_id: purchase.agentId,
      mandate_id: purchase.mandateId,
      amount: '3.00',
      resource_url: purchase.resourceUrl,
      category: 'research',
      metadata: { project: 'secret' },
    },
  })
  const paid = await service.call('POST', '/v1/payments/verify', {
    key,
    body: {
      proof: proof.body.proof,
      merchant_domain: 'refunds.example.com',
      expected_amount: '3.00',
    },
  })
  const id = paid.body.transaction_id as string
  await changingNothing(service, async () => {
    const refused = await refund(id, { amount: '1.00' })
    assert.deepEqual([refused.status, refused.body], [403, { detail: 'seller_not_yours' }])
    const hidden = await refund(id, { amount: '1.00' }, { key: keys.merchant })
    assert.deepEqual([hidden.status, hidden.body], [404, { detail: 'not_found' }])
  })
  const made = await refund(id, { amount: '3.00' }, { key })
  assert.equal(made.status, 201, made.text)
  for (const reader of [key, service.sandboxKey]) {
    const { body } = await service.call('GET', `/v1/transactions/${made.body.id}`, { key: reader })
    assert.deepEqual([body.status, body.refund_of, body.amount], ['refunded', id, '3.00'])
    // The payer's notes are visible only to the payer.
    const noted = reader === key ? [null, {}] : ['research', { project: 'secret' }]
    assert.deepEqual([body.category, body.metadata], noted)
  }
  assert.equal((await readSums(service, purchase))[0], '0.00')
})

import assert from 'node:assert/strict'
import { after, test } from 'node:test'

import { changingNothing, readLedger, readSums } from '../../testing/ledger.ts'
import { createMerchant, registerSeller } from '../../testing/purchases.ts'
import {
  createTenant,
  issueKey,
  issueProof,
  preparePurchase,
  startTestService,
  verifyProof,
} from '../../testing/service.ts'

// The first account pays. `merchant` sells under api.example.com; `stranger` sells only under its own name.
const service = await startTestService({ after })
const merchant = await createMerchant(service, 'api.example.com')
const stranger = await createMerchant(service, 'stranger.example')
const purchase = await preparePurchase(service, { max_spend_total: '100000.00' })

test('The account that owns the mandate may collect, with or without a registered seller', async () => {
  const merchantKey = await issueKey(service, { role: 'merchant' })
  for (const key of [service.sandboxKey, merchantKey]) {
    const answer = await verifyProof(service, await issueProof(service, purchase), {}, { key })
    assert.equal(answer.status, 200, answer.text)
  }
})

test('The account that owns the mandate need not be the host of the resource', async () => {
  const anywhere = await preparePurchase(service, { allowed_sellers: ['*'] })
  const fields = { merchant_domain: 'elsewhere.example' }
  const answer = await verifyProof(service, await issueProof(service, anywhere), fields)
  assert.equal(answer.status, 200, answer.text)
})

test('Another account that owns the seller may collect; the payment is recorded in both accounts [state.paid]', async () => {
  const purchase = await preparePurchase(service)
  for (const key of [merchant.ownerKey, merchant.merchantKey]) {
    const before = await readLedger(service, merchant.ownerKey)
    const answer = await verifyProof(service, await issueProof(service, purchase, '2.50'), {}, { key })
    assert.equal(answer.status, 200, answer.text)
    const path = `/v1/transactions/${answer.body.transaction_id}`
    const paid = await service.call('GET', path)
    assert.equal(paid.status, 200)
    assert.deepEqual(
      [paid.body.status, paid.body.amount, paid.body.seller_id],
      ['paid', '2.50', merchant.sellerId],
    )
    for (const key of [merchant.ownerKey, merchant.merchantKey]) {
      assert.deepEqual((await service.call('GET', path, { key })).body, paid.body)
    }
    const after = await readLedger(service, merchant.ownerKey)
    assert.deepEqual(after.transactions, [paid.body, ...before.transactions])
    assert.deepEqual(after.mandates, [])
    assert.equal((await service.call('GET', path, { key: stranger.ownerKey })).status, 404)
  }
  assert.deepEqual(await readSums(service, purchase), ['5.00', '0.00', '95.00'])
})

test("A payment that its payer collects under another account's domain stays out of that account", async () => {
  const anywhere = await preparePurchase(service, { allowed_sellers: ['*'] })
  const proof = await issueProof(service, anywhere)
  await changingNothing(
    service,
    async () => {
      const answer = await verifyProof(service, proof, { merchant_domain: 'stranger.example' })
      assert.equal(answer.status, 200, answer.text)
      const { body } = await service.call('GET', `/v1/transactions/${answer.body.transaction_id}`)
      assert.deepEqual([body.merchant_domain, body.seller_id], ['stranger.example', null])
    },
    stranger.ownerKey,
  )
})

interface Refused {
  readonly title: string
  readonly detail: 'seller_not_yours' | 'merchant_not_allowed' | 'merchant_not_payee'
  readonly key: string
  readonly merchantDomain?: string
  readonly allowedSellers?: readonly string[]
  readonly resourceUrl?: string
}

const refusals: readonly Refused[] = [
  { title: 'a stranger', detail: 'seller_not_yours', key: stranger.ownerKey },
  { title: "a stranger's merchant", detail: 'seller_not_yours', key: stranger.merchantKey },
  {
    title: 'a merchant under an unregistered domain',
    detail: 'seller_not_yours',
    key: merchant.merchantKey,
    merchantDomain: 'nobody.example',
    allowedSellers: ['*'],
    resourceUrl: 'https://nobody.example/',
  },
  {
    title: "a merchant under the domain of another account's seller",
    detail: 'seller_not_yours',
    key: merchant.merchantKey,
    merchantDomain: 'stranger.example',
    allowedSellers: ['*'],
    resourceUrl: 'https://stranger.example/',
  },
  {
    title: 'the owner under a domain that the mandate does not allow',
    detail: 'merchant_not_allowed',
    key: service.sandboxKey,
    merchantDomain: 'other.example',
  },
  {
    title: 'the owner under a mandate that allows no seller',
    detail: 'merchant_not_allowed',
    key: service.sandboxKey,
    allowedSellers: [],
  },
  {
    title: 'a merchant that the mandate does not allow',
    detail: 'merchant_not_allowed',
    key: merchant.merchantKey,
    allowedSellers: ['shop.example.com', 'example.com'],
  },
  {
    title: 'a merchant that is neither the host nor a parent domain of it',
    detail: 'merchant_not_payee',
    key: merchant.merchantKey,
    resourceUrl: 'https://shop.example.com/api.example.com',
  },
  {
    title: 'a merchant on a subdomain of the host',
    detail: 'merchant_not_payee',
    key: merchant.merchantKey,
    resourceUrl: 'https://example.com/',
  },
  {
    title: 'a merchant whose name is only the end of the host',
    detail: 'merchant_not_payee',
    key: merchant.merchantKey,
    allowedSellers: ['*'],
    resourceUrl: 'https://evil-api.example.com/',
  },
  {
    title: 'a merchant whose name is only the start of the host',
    detail: 'merchant_not_payee',
    key: merchant.merchantKey,
    allowedSellers: ['*'],
    resourceUrl: 'https://api.example.com.evil.example/',
  },
  {
    title: 'a merchant whose name is before the @ of the address',
    detail: 'merchant_not_payee',
    key: merchant.merchantKey,
    resourceUrl: 'https://api.example.com@evil.example/',
  },
  {
    title: 'an unrelated account that the mandate does not allow either: the first refusal counts',
    detail: 'seller_not_yours',
    key: stranger.merchantKey,
    allowedSellers: [],
    resourceUrl: 'https://evil.example/',
  },
  {
    title: 'a merchant that is neither allowed nor the payee: the first refusal counts',
    detail: 'merchant_not_allowed',
    key: merchant.merchantKey,
    allowedSellers: [],
    resourceUrl: 'https://evil.example/',
  },
]
for (const { title, detail, key, merchantDomain = 'api.example.com', ...rest } of refusals) {
  test(`403 ${detail} charges nothing and leaves the proof usable: ${title}`, async () => {
    const { allowedSellers = ['api.example.com'], resourceUrl = 'https://api.example.com/data' } = rest
    const limits = { allowed_sellers: allowedSellers }
    const purchase = { ...(await preparePurchase(service, limits)), resourceUrl }
    const proof = await issueProof(service, purchase)
    const attempt = () => verifyProof(service, proof, { merchant_domain: merchantDomain }, { key })
    const unchanged = () => changingNothing(service, attempt)
    const answer = await changingNothing(service, unchanged, merchant.ownerKey)
    assert.equal(answer.status, 403)
    assert.equal(answer.text, JSON.stringify({ detail }))
    const found = await service.call('GET', `/v1/payments/proofs/${proof.nonce}`)
    assert.equal(found.body.status, 'open')
    const [admitted] = allowedSellers
    if (admitted === undefined) return
    const domain = admitted === '*' ? 'any.example' : admitted
    assert.equal((await verifyProof(service, proof, { merchant_domain: domain })).status, 200)
  })
}

test('The host of the resource, or a parent domain of it, is the payee', async () => {
  const sellerOf = new Map([['api.example.com', merchant.merchantKey]])
  const parent = await createTenant(service, 'idp_parent')
  await registerSeller(service, 'parent.example', parent.sandboxKey)
  await registerSeller(service, 'bücher.example', parent.sandboxKey)
  sellerOf.set('parent.example', parent.sandboxKey).set('bücher.example', parent.sandboxKey)
  const rows: readonly (readonly [domain: string, resourceUrl: string])[] = [
    ['api.example.com', 'https://api.example.com'],
    ['api.example.com', 'http://API.Example.Com:8080/data?x=1'],
    ['api.example.com', 'https://api.example.com./data'],
    ['api.example.com', 'https://user:word@api.example.com/'],
    ['api.example.com', 'https://v1.api.example.com/'],
    ['parent.example', 'https://a.b.parent.example/'],
    ['bücher.example', 'https://xn--bcher-kva.example/'],
    ['bücher.example', 'https://shop.bücher.example/'],
  ]
  for (const [domain, resourceUrl] of rows) {
    const purchase = { ...(await preparePurchase(service, { allowed_sellers: [domain] })), resourceUrl }
    const key = sellerOf.get(domain) ?? ''
    const fields = { merchant_domain: domain }
    const answer = await verifyProof(service, await issueProof(service, purchase), fields, { key })
    assert.equal(answer.status, 200, `${domain} ${resourceUrl} ${answer.text}`)
  }
})

test('The refusals come after step 3 and before step 4 [verify.order]', async () => {
  const proof = await issueProof(service, purchase)
  const key = stranger.merchantKey
  const forged = { ...proof, signature: '0'.repeat(64) }
  const mismatch = await verifyProof(service, forged, { expected_amount: '2.00' }, { key })
  assert.equal(mismatch.body.reason, 'amount_mismatch')
  assert.equal((await verifyProof(service, forged, {}, { key })).body.reason, 'invalid_signature')
  assert.equal((await verifyProof(service, proof, {}, { key })).body.detail, 'seller_not_yours')
  assert.equal((await verifyProof(service, proof)).status, 200)
  assert.equal((await verifyProof(service, proof, {}, { key })).body.detail, 'seller_not_yours')
  const elsewhere = await verifyProof(service, proof, { merchant_domain: 'other.example' })
  assert.equal(elsewhere.body.detail, 'merchant_not_allowed')
  assert.equal((await verifyProof(service, proof)).body.reason, 'nonce_reused')
})

test('A seller in production cannot collect in the sandbox', async () => {
  const tenant = await createTenant(service, 'idp_production_seller')
  await registerSeller(service, 'production.example', tenant.productionKey)
  const purchase = {
    ...(await preparePurchase(service, { allowed_sellers: ['*'] })),
    resourceUrl: 'https://production.example/',
  }
  const proof = await issueProof(service, purchase)
  const fields = { merchant_domain: 'production.example' }
  const inSandbox = await verifyProof(service, proof, fields, { key: tenant.sandboxKey })
  assert.equal(inSandbox.text, '{"detail":"seller_not_yours"}')
  const inProduction = await verifyProof(service, proof, fields, { key: tenant.productionKey })
  assert.equal(inProduction.body.reason, 'invalid_signature')
  assert.equal((await verifyProof(service, proof, fields)).status, 200)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { Proof } from '@purser/wire/payments'

import { pay } from '../../testing/purchases.ts'
import { serviceStores, startServiceOn } from '../../testing/service-stores.ts'
import { askForProof, createTenant, issueProof, preparePurchase, verifyProof } from '../../testing/service.ts'
import { shareTestService } from '../../testing/shared-service.ts'

for (const { name, missing, open } of serviceStores) {
  test(
    `On ${name} first purchases can need approval again after they did not, and delay no other tenant`,
    { skip: missing ?? false },
    async (context) => {
      const { service } = await startServiceOn(open, context)
      const purchase = await preparePurchase(service, { allowed_sellers: ['*'] })
      const domains = Array.from({ length: 3 }, (_, index) => `shop${index}.example.com`)
      for (const domain of domains)
        await pay(service, { ...purchase, resourceUrl: `https://${domain}/data` }, '0.01', {
          merchant_domain: domain,
        })
      const stranger = await createTenant(service)
      const other = await preparePurchase(service, {}, stranger.sandboxKey)
      let version = 1
      for (const approval of [{ first_purchase_at_seller: true }, null, { first_purchase_at_seller: true }]) {
        const amending = service.call('PATCH', `/v1/mandates/${purchase.mandateId}`, {
          body: { approval },
          headers: { 'if-match': `"${version++}"` },
        })
        const proof = await askForProof(service, other, '0.01', { key: stranger.sandboxKey })
        const amended = await amending
        assert.deepEqual([amended.status, proof.status], [200, 201])
      }
      const [domain = ''] = domains
      const known = await askForProof(
        service,
        { ...purchase, resourceUrl: `https://${domain}/other` },
        '0.01',
      )
      assert.equal(known.status, 201, known.text)
    },
  )
}

test('A seller whose payment was open or authorized when first purchases began to need approval is known while it may be charged, and after it was', async () => {
  const service = await shareTestService()
  const mayAsk = async (purchase: Awaited<ReturnType<typeof preparePurchase>>) =>
    (await askForProof(service, purchase, '0.01')).status === 201
  const requireApproval = async ({ mandateId }: { readonly mandateId: string }) => {
    const body = { approval: { first_purchase_at_seller: true } }
    const amended = await service.call('PATCH', `/v1/mandates/${mandateId}`, {
      body,
      headers: { 'if-match': '"1"' },
    })
    assert.equal(amended.status, 200, amended.text)
  }
  const authorize = async (proof: Proof) => {
    const merchant = { proof, merchant_domain: 'api.example.com', expected_amount: proof.amount }
    const body = { ...merchant, capture_seconds: 86_400 }
    assert.equal((await service.call('POST', '/v1/payments/authorize', { body })).status, 200)
  }
  const charged = await preparePurchase(service)
  const open = await issueProof(service, charged)
  await requireApproval(charged)
  assert.ok(await mayAsk(charged), 'it may still be charged')
  assert.equal((await verifyProof(service, open)).status, 200)
  const authorized = await preparePurchase(service)
  const promised = await issueProof(service, authorized)
  await authorize(promised)
  await requireApproval(authorized)
  const busy = await preparePurchase(service)
  const first = await issueProof(service, busy)
  await authorize(first)
  await requireApproval(busy)
  const later = await Promise.all(Array.from({ length: 10 }, () => issueProof(service, busy)))
  for (const { nonce } of later) await service.call('POST', `/v1/payments/proofs/${nonce}/void`, { body: {} })
  const lapsed = await preparePurchase(service)
  await issueProof(service, lapsed)
  await requireApproval(lapsed)
  service.clock.nowMs += 400_000
  assert.ok(await mayAsk(charged), 'it was charged')
  assert.ok(await mayAsk(authorized), 'it is authorized')
  assert.ok(await mayAsk(busy), 'it is authorized, and ten later proofs were voided')
  assert.ok(!(await mayAsk(lapsed)), 'its proof has expired')
})

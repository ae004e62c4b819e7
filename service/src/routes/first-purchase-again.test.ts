import assert from 'node:assert/strict'
import { test } from 'node:test'

import { pay } from '../../testing/purchases.ts'
import { serviceStores } from '../../testing/service-stores.ts'
import { askForProof, createTenant, preparePurchase, startTestService } from '../../testing/service.ts'

for (const { name, missing, open } of serviceStores) {
  test(
    `On ${name} first purchases can need approval again after they did not, and delay no other tenant`,
    { skip: missing ?? false },
    async (context) => {
      const { settings, discard } = await open()
      context.after(discard)
      const service = await startTestService(context, settings)
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

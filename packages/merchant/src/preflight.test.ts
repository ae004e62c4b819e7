import assert from 'node:assert/strict'
import { test } from 'node:test'

import { shareTestService } from '../../../service/testing/shared-service.ts'
import { adapters } from '../testing/adapters.ts'
import { openShop } from '../testing/purchase.ts'

const service = await shareTestService()
const [adapter] = adapters
assert(adapter)

for (const capture of ['before', 'after'] as const) {
  for (const network of ['down', 'cut answers', 'forbid'] as const) {
    test(`A pre-flight check without an answer is repeated before the charge (capture ${capture}, network: ${network})`, async (context) => {
      const options = { preflight: true, category: 'games', capture }
      const mandate = { allowed_categories: ['data'] }
      const { proofFor, pay, proxy, shop, spent } = await openShop(
        context,
        service,
        adapter,
        options,
        mandate,
      )
      const proof = await proofFor('/data')
      proxy.set(network)
      assert.equal((await pay('/data', proof)).status, 503)
      proxy.set('pass')
      const { status, challenge } = await pay('/data', proof)
      assert.deepEqual([status, challenge.reason], [402, 'merchant_not_allowed'])
      assert.equal(shop.runs, 0)
      assert.equal(await spent(), '0.00')
    })
  }
}

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { inParallel, openLoadClient } from '../testing/load.ts'
import { serviceStores } from '../testing/service-stores.ts'
import { createTenant, issueKey, issueProof, preparePurchase, startTestService } from '../testing/service.ts'

const domain = 'api.example.com'
/** More than the counters of one account; for both keys together, more than all counters there used to be. */
const inventedDomains = 1_100

test('Failed verifications of a registered domain are counted, whatever domains a merchant key invents', async (context) => {
  const ledger = await serviceStores[0]?.open()
  assert.ok(ledger)
  const service = await startTestService(context, ledger.settings)
  context.after(ledger.discard)
  const purchase = await preparePurchase(service)
  const proof = { ...(await issueProof(service, purchase)), signature: 'wrong' }
  await service.call('POST', '/sellers', { body: { name: 'Shop', domain, price_config: {} } })
  const hostile = await createTenant(service)
  const hostileKey = await issueKey(service, { role: 'merchant' }, hostile.sandboxKey)
  const ownKey = await issueKey(service, { role: 'merchant' })

  for (const key of [hostileKey, ownKey]) {
    const client = openLoadClient(service.url, key, 32)
    const invent = Array.from({ length: inventedDomains }, (_, number) => async () => {
      const { status } = await client.verify(proof, { merchantDomain: `shop-${number}.example.com` })
      assert.equal(status, 402)
    })
    await inParallel(32, invent)
    client.close()
  }
  const honest = openLoadClient(service.url, ownKey, 1)
  assert.equal((await honest.verify(proof)).status, 402)
  honest.close()

  // The counters are written when the service stops.
  await service.stop()
  const later = await startTestService(context, ledger.settings)
  const { body: sellers } = await later.call('GET', '/v1/console/sellers', { key: service.sandboxKey })
  assert.deepEqual(sellers[0].failures_last_month, [{ reason: 'invalid_signature', count: 1 }])
})

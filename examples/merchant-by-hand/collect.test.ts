import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

import { startCuttingProxy } from '../../packages/merchant/testing/cutting-proxy.ts'
import { registerSeller } from '../../service/testing/purchases.ts'
import {
  issueKey,
  merchantDomain,
  preparePurchase,
  startTestService,
  type TestService,
} from '../../service/testing/service.ts'
import { shareTestService } from '../../service/testing/shared-service.ts'

/** What the merchant knows of a request, and its call to the service. */
interface Delivery {
  readonly address: string
  readonly price: string
  readonly domain: string
  readonly purser: string
  readonly key: string
}

type Collect = (header: string, delivery: Delivery) => Promise<unknown>

const script = join(import.meta.dirname, 'collect.js')
const { collect } = (await import(script)) as { readonly collect: Collect }
const shared = await shareTestService()
await registerSeller(shared, merchantDomain)

test('The merchant by hand in the guide to payments matches the example exactly', () => {
  const guide = readFileSync(join(import.meta.dirname, '../../docs/guides/payments.md'), 'utf8')
  assert.ok(guide.includes(`\`\`\`js\n${readFileSync(script, 'utf8')}\`\`\`\n`))
})

test('A proof pays once for the URL and the price that it names', async () => {
  const { header, delivery, spent } = await openShop(shared)
  const wrong: readonly (readonly [header: string, change: Partial<Delivery>, reason: string])[] = [
    ['', {}, 'no proof in X-Payment-Proof'],
    ['not a proof', {}, 'no proof in X-Payment-Proof'],
    [header, { address: `${delivery.address}/other` }, 'proof for something else'],
    [header, { price: '4.01' }, 'amount_mismatch'],
    [header, { key: `${delivery.key}x` }, 'invalid_api_key'],
  ]
  for (const [shown, change, reason] of wrong) {
    assert.deepEqual(await collect(shown, { ...delivery, ...change }), { paid: false, reason })
  }
  assert.equal(await spent(), '0.00')

  const paid = (await collect(header, delivery)) as { paid: boolean; transactionId: string }
  assert.equal(paid.paid, true)
  assert.match(paid.transactionId, /^txn_/)
  assert.deepEqual(await collect(header, delivery), { paid: false, reason: 'nonce_reused' })
  assert.equal(await spent(), '4.00')
})

test('A lost response is retried, and the payment is charged once', async (context) => {
  const { header, delivery, spent } = await openShop(shared)
  const proxy = await startCuttingProxy(context, shared.url)
  proxy.set('cut first answers')
  const { paid } = (await collect(header, { ...delivery, purser: proxy.url })) as { paid: boolean }
  assert.deepEqual([paid, proxy.cuts(), await spent()], [true, 1, '4.00'])
})

test('Without a response, nothing is delivered', async (context) => {
  const service = await startTestService(context)
  const { header, delivery } = await openShop(service)
  await service.stop()
  assert.deepEqual(await collect(header, delivery), {
    paid: false,
    reason: 'payment could not be verified',
  })
})

/** A merchant, and an agent with a proof for 4.00. */
async function openShop(service: TestService) {
  const { agentId, mandateId, resourceUrl } = await preparePurchase(service)
  const { body } = await service.call('POST', '/v1/payments/proof', {
    body: { agent_id: agentId, mandate_id: mandateId, amount: '4.00', resource_url: resourceUrl },
  })
  return {
    header: Buffer.from(JSON.stringify(body.proof)).toString('base64url'),
    delivery: {
      address: resourceUrl,
      price: '4.00',
      domain: merchantDomain,
      purser: service.url,
      key: await issueKey(service, { role: 'merchant' }),
    },
    spent: async () => (await service.call('GET', `/mandates/${mandateId}`)).body.spent_total as string,
  }
}

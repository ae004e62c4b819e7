import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'

import { shareTestService } from '../../../../service/testing/shared-service.ts'
import { openMarket } from '../../testing/market.ts'
import { merchantDomain } from '../../testing/merchant.ts'
import { createPurchaseMemory } from '../client.ts'

const service = await shareTestService()

for (const init of [{}, { purchaseId: 'order-1' }]) {
  const title = 'purchaseId' in init ? 'With a purchase id, a' : 'A'
  test(
    `${title} call whose body never ends is over when its signal aborts`,
    { timeout: 10_000 },
    async (context) => {
      const { pay, decisions } = await openMarket(context, service)
      const url = await startImpatientMerchant(context)
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => controller.enqueue(new Uint8Array(10)),
      })
      const request = new Request(url, { method: 'POST', body, duplex: 'half' } as RequestInit)
      const buy = pay({ purchases: createPurchaseMemory() })
      const signal = AbortSignal.timeout(200)
      await assert.rejects(buy(request, { ...init, signal }), { name: 'TimeoutError' })
      assert.deepEqual(decisions, [])
    },
  )
}

test(
  'With a purchase id, a Request that is too long to repeat is refused',
  { timeout: 10_000 },
  async (context) => {
    const { merchant, pay } = await openMarket(context, service)
    const buy = pay({ purchases: createPurchaseMemory() })
    const request = new Request(merchant.url, { method: 'POST', body: new Uint8Array(10 * 1024 * 1024 + 1) })
    await assert.rejects(buy(request, { purchaseId: 'order-1' }), /a Request with more than 10 MiB/)
    assert.equal(merchant.visits.length, 0)
  },
)

/** The URL of a merchant that requests a payment before it has read the body. */
async function startImpatientMerchant(context: {
  readonly after: (stop: () => Promise<void>) => void
}): Promise<string> {
  const server = createServer((_request, response) => {
    const offer = { amount: '4.00', currency: 'USDC', resource: url, merchant_domain: merchantDomain }
    const challenge = JSON.stringify({ scheme: 'svc-sandbox', network: 'sandbox', ...offer })
    response.writeHead(402, { 'x-payment-challenge': Buffer.from(challenge).toString('base64url') }).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/data`
  context.after(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return url
}

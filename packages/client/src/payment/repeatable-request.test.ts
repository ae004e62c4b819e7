import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
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

for (const how of ['its init', 'a Request'] as const) {
  test(`The paid request uses the dispatcher of ${how}, such as a proxy`, async (context) => {
    const { merchant, pay } = await openMarket(context, service)
    await fetch(merchant.url)
    const platform = Reflect.get(globalThis, Symbol.for('undici.globalDispatcher.1')) as Dispatcher
    const sent: boolean[] = []
    const dispatcher: Dispatcher = {
      dispatch: (options, handler) => {
        sent.push(new Headers(options.headers).has('x-payment-proof'))
        return platform.dispatch(options, handler)
      },
    }
    const url = `${merchant.url}/data`
    const init = { dispatcher, method: 'POST', body: 'question' } as RequestInit
    const { status } = await (how === 'its init' ? pay()(url, init) : pay()(new Request(url, init)))
    assert.equal(status, 200)
    assert.deepEqual(sent, [false, true])
    const bodies = merchant.visits.slice(-2).map(({ body }) => body)
    assert.deepEqual(bodies, ['question', 'question'])
  })
}

/** As in Firefox, where the body of a `Request` can be read, but only as a whole. */
class WholeRequest extends Request {
  override get body() {
    return undefined as unknown as null
  }
  override clone(): Request {
    return new WholeRequest(super.clone())
  }
}

for (const init of [{}, { purchaseId: 'order-1' }]) {
  const title = 'purchaseId' in init ? 'With a purchase id, a' : 'A'
  test(`${title} Request that does not stream its body is paid with its body`, async (context) => {
    const { merchant, pay, budget } = await openMarket(context, service, { price: '1.00' })
    const buy = pay({ purchases: createPurchaseMemory() })
    const order = new WholeRequest(merchant.url, { method: 'POST', body: 'question' })
    assert.equal((await buy(order, init)).status, 200)
    const reading = await pay()(new WholeRequest(merchant.url))
    assert.equal(reading.status, 200)
    const bodies = merchant.visits.map(({ method, body }) => [method, body])
    assert.deepEqual(bodies, [
      ['POST', 'question'],
      ['POST', 'question'],
      ['GET', ''],
      ['GET', ''],
    ])
    assert.deepEqual(await budget(), { spent: '2.00', held: '0.00' })
  })
}

test('A Request that redirects to itself as GET is paid without its body', async (context) => {
  const { pay } = await openMarket(context, service)
  const url = await startImpatientMerchant(context, (request, response) => {
    if (request.headers['x-payment-proof'] === undefined) return false
    if (request.method === 'POST') response.writeHead(303, { location: '/data' }).end()
    else response.end('goods')
    return true
  })
  const answer = await pay()(new Request(url, { method: 'POST', body: 'question' }))
  assert.equal(await answer.text(), 'goods')
})

interface Dispatcher {
  readonly dispatch: (options: { readonly headers?: HeadersInit }, handler: unknown) => boolean
}

/** The URL of a merchant that requests a payment before it has read the body. */
async function startImpatientMerchant(
  context: { readonly after: (stop: () => Promise<void>) => void },
  answers: (request: IncomingMessage, response: ServerResponse) => boolean = () => false,
): Promise<string> {
  const server = createServer((request, response) => {
    if (answers(request, response)) return
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

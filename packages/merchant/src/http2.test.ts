import assert from 'node:assert/strict'
import { once } from 'node:events'
import {
  connect,
  constants,
  createServer,
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type Http2ServerResponse,
} from 'node:http2'
import { text } from 'node:stream/consumers'
import { test, type TestContext } from 'node:test'

import type { Proof } from '@purser/client'
import type { PaymentOptions } from '@purser/merchant'
import { paymentOf as ofFastify, requirePayment as forFastify } from '@purser/merchant/fastify'
import { paymentOf as ofNode, requirePayment as forNode } from '@purser/merchant/node'
import fastify from 'fastify'

import { issueProof, merchantDomain } from '../../../service/testing/service.ts'
import { shareTestService } from '../../../service/testing/shared-service.ts'
import { sendFastify, sendGoods, type Adapter } from '../testing/adapters.ts'
import { encode, openShop, price } from '../testing/purchase.ts'
import { until } from '../testing/scenarios.ts'
import { largeBytes, listen } from '../testing/shop.ts'

const service = await shareTestService()

// The types of the adapters are those of HTTP/1.
const adapters: readonly Adapter[] = [
  {
    name: 'node:http2',
    open: (options, shop) => {
      const sell = forNode(options, async (request, response) => {
        sendGoods(response, await shop.sell(request.url ?? '/', ofNode(request)))
      })
      return listen(createServer(sell as never))
    },
  },
  {
    name: 'Fastify 5 with http2',
    open: async (options, shop) => {
      const app = fastify({ http2: true })
      const preHandler = forFastify(options) as never
      app.get('/*', { preHandler }, async (request, reply) => {
        const goods = await shop.sell(request.url, ofFastify(request))
        return sendFastify(reply as never, goods)
      })
      await app.ready()
      return listen(app.server)
    },
  },
]

/** A connection of a customer, with one request. */
interface Visit {
  readonly session: ClientHttp2Session
  readonly stream: ClientHttp2Stream
}

const departures: Readonly<Record<string, (visit: Visit) => void>> = {
  'cancels the stream': ({ session, stream }) => {
    stream.close(constants.NGHTTP2_CANCEL)
    session.close()
  },
  'closes the connection': ({ session }) => session.destroy(),
}

const meteredDepartures: typeof departures = {
  ...departures,
  'resets the stream without an error': ({ session, stream }) => {
    stream.close(constants.NGHTTP2_NO_ERROR)
    session.close()
  },
}

for (const adapter of adapters) {
  for (const [how, leave] of Object.entries(meteredDepartures)) {
    test(`A customer who ${how} of a metered response pays for what was sent (${adapter.name})`, async (context) => {
      const { proofFor, visit, buy, shop, spent, deserted } = await open(context, adapter, {
        capture: 'metered',
      })
      const proof = await proofFor('/pages')
      const visited = visit('/pages', proof)
      await once(visited.stream, 'data')
      leave(visited)
      await deserted()
      await until(async () => (await fateOf(proof)) !== 'authorized')
      assert.deepEqual([await fateOf(proof), await spent()], ['captured', '0.75'])
      shop.open.resolve()
      assert.match((await buy('/pages', proof)).text, /nonce_reused/)
      assert.equal(shop.runs, 1)
    })
  }

  for (const [how, leave] of Object.entries(departures)) {
    for (const capture of ['before', 'after'] as const) {
      const charged = `charged ${capture} the handler`
      test(`A customer who ${how} before the response gets it with the same proof, ${charged} (${adapter.name})`, async (context) => {
        const { proofFor, visit, buy, shop, spent, deserted } = await open(context, adapter, { capture })
        const proof = await proofFor('/waiting')
        const visited = visit('/waiting', proof)
        await shop.entered.promise
        leave(visited)
        await deserted()
        shop.open.resolve()
        assert.equal((await buy('/waiting', proof)).status, 200)
        assert.match((await buy('/waiting', proof)).text, /nonce_reused/)
        assert.deepEqual([shop.runs, await spent()], [2, price])
      })

      test(`A customer who ${how} during the response gets it again with the same proof, ${charged} (${adapter.name})`, async (context) => {
        const { proofFor, visit, buy, shop, spent, deserted } = await open(context, adapter, { capture })
        const proof = await proofFor('/large')
        const visited = visit('/large', proof)
        await once(visited.stream, 'data')
        leave(visited)
        await deserted()
        const again = await buy('/large', proof)
        assert.deepEqual([again.status, again.text.length], [200, largeBytes])
        assert.match((await buy('/large', proof)).text, /has bought its goods already/)
        assert.deepEqual([shop.runs, await spent()], [2, price])
      })

      test(`A customer who ${how} during the payment gets the goods with the same proof, ${charged} (${adapter.name})`, async (context) => {
        const { proofFor, visit, buy, shop, proxy, spent, deserted } = await open(context, adapter, {
          capture,
        })
        const proof = await proofFor('/data')
        proxy.set('hold answers')
        const visited = visit('/data', proof)
        await proxy.holding()
        leave(visited)
        await deserted()
        proxy.set('pass')
        assert.equal((await buy('/data', proof)).status, 200)
        assert.deepEqual([shop.runs, await spent()], [1, price])
      })
    }
  }

  test(`A metered response that fails is cut off and not charged (${adapter.name})`, async (context) => {
    const { proofFor, visit, shop, spent } = await open(context, adapter, { capture: 'metered' })
    const proof = await proofFor('/torn-pages')
    const { stream } = visit('/torn-pages', proof)
    await once(stream, 'data')
    shop.open.resolve()
    await new Promise((resolve) => stream.on('close', resolve))
    assert.equal(stream.rstCode, constants.NGHTTP2_INTERNAL_ERROR, 'the customer notices')
    await until(async () => (await fateOf(proof)) !== 'authorized')
    assert.deepEqual([await fateOf(proof), await spent()], ['voided', '0.00'])
  })

  for (const capture of ['before', 'after', 'metered'] as const) {
    test(`A whole response is charged once, with capture: '${capture}' (${adapter.name})`, async (context) => {
      const { proofFor, buy, shop, spent } = await open(context, adapter, { capture })
      shop.open.resolve()
      const proof = await proofFor('/chapters')
      const { status, text: body } = await buy('/chapters', proof)
      assert.deepEqual([status, body], [200, 'first page,second page'])
      assert.match((await buy('/chapters', proof)).text, /has bought its goods already/)
      assert.deepEqual([shop.runs, await spent()], [1, price])
    })
  }
}

/** How a handler could send goods past its response, before the charge. */
const bypasses: Readonly<Record<string, (response: Http2ServerResponse) => void>> = {
  createPushResponse: (response) => {
    response.createPushResponse({ ':path': '/more' }, (error, pushed) => {
      pushed.end('goods')
      response.end(String(error))
    })
  },
  pushStream: ({ stream }) =>
    stream.pushStream({ ':path': '/more' }, (_, pushed) => void pushed.end('goods')),
  respond: ({ stream }) => {
    stream.respond({ ':status': 200 })
    stream.end('goods')
  },
  respondWithFile: ({ stream }) => stream.respondWithFile(import.meta.filename),
  respondWithFD: ({ stream }) => stream.respondWithFD(0),
}
for (const [name, bypass] of Object.entries(bypasses)) {
  test(`A handler that calls ${name} before the charge gets an error, sends nothing, and is not charged`, async (context) => {
    const bypassing: Adapter = {
      name: 'node:http2',
      open: (options) => {
        const sell = forNode(options, (_request, response) =>
          bypass(response as unknown as Http2ServerResponse),
        )
        return listen(createServer(sell as never))
      },
    }
    const { proofFor, buy, errors, spent } = await open(context, bypassing, { capture: 'after' })
    const { status, text: body } = await buy('/data', await proofFor('/data'))
    assert.deepEqual([status, body, await spent()], [500, '', '0.00'])
    assert.match(String(errors[0]), /charged later can only use writeHead, write and end/)
  })
}

/** Opens a shop over HTTP/2. */
async function open(context: TestContext, adapter: Adapter, options: Partial<PaymentOptions>) {
  const purchase = await openShop(context, service, adapter, options)
  const { agentId, mandateId, urlOf } = purchase

  function visit(path: string, proof: Proof): Visit {
    const session = connect(urlOf('')).on('error', () => undefined)
    const stream = session.request({ ':path': path, 'x-payment-proof': encode(proof) })
    return { session, stream: stream.on('error', () => undefined) }
  }

  return {
    ...purchase,
    visit,
    proofFor: (path: string) => {
      const resourceUrl = `https://${merchantDomain}${path}`
      return issueProof(service, { agentId, mandateId, merchantDomain, resourceUrl }, price)
    },
    buy: async (path: string, proof: Proof) => {
      const { session, stream } = visit(path, proof)
      const [[headers], body] = await Promise.all([once(stream, 'response'), text(stream)])
      session.close()
      return { status: headers[':status'] as number, text: body }
    },
  }
}

async function fateOf({ nonce }: Proof): Promise<unknown> {
  return (await service.call('GET', `/v1/payments/proofs/${nonce}`)).body.status
}

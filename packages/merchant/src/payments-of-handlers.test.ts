import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import { test } from 'node:test'

import { createAdaptorServer } from '@hono/node-server'
import { Purser } from '@purser/client'
import type { Payment, PaymentOptions } from '@purser/merchant'
import { paymentOf as ofExpress, requirePayment as forExpress } from '@purser/merchant/express'
import { paymentOf as ofFastify, requirePayment as forFastify } from '@purser/merchant/fastify'
import { paymentOf as ofFetch, requirePayment as forFetch } from '@purser/merchant/fetch'
import { paymentOf as ofHono, requirePayment as forHono } from '@purser/merchant/hono'
import { paymentOf as ofNext, requirePayment as forNext } from '@purser/merchant/next'
import { paymentOf as ofNode, requirePayment as forNode } from '@purser/merchant/node'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'

import { issueKey, issueProof, merchantDomain, preparePurchase } from '../../../service/testing/service.ts'
import { shareTestService } from '../../../service/testing/shared-service.ts'
import { encode } from '../testing/purchase.ts'
import { listen } from '../testing/shop.ts'

const service = await shareTestService()
const merchant = {
  client: new Purser({ apiKey: await issueKey(service, { role: 'merchant' }), baseUrl: service.url }),
  merchantDomain,
  routes: { 'GET /data': { price: '4.00', category: 'data' } },
}

type Tell = (payment: Payment | undefined) => string
const tell: Tell = (payment) => JSON.stringify(payment ?? 'free')

const servers: Readonly<Record<string, (options: PaymentOptions) => Server | Promise<Server>>> = {
  'node:http': (options) =>
    createServer(
      forNode(options, (request: IncomingMessage, response) => response.end(tell(ofNode(request)))),
    ),
  'Express 5': (options) => {
    const app = express().use(forExpress(options))
    app.use((request, response) => void response.send(tell(ofExpress(request))))
    return createServer(app as RequestListener)
  },
  'Fastify 5': async (options) => {
    const app = fastify()
    app.addHook('preHandler', forFastify(options))
    app.get('/*', (request) => tell(ofFastify(request)))
    await app.ready()
    return app.server
  },
  Hono: (options) => {
    const app = new Hono().use(forHono(options))
    app.get('/*', (context) => context.text(tell(ofHono(context))))
    return createAdaptorServer({ fetch: app.fetch, createServer }) as Server
  },
  'Fetch style': (options) => {
    const fetch = forFetch(options, (request) => new Response(tell(ofFetch(request))))
    return createAdaptorServer({ fetch, createServer }) as Server
  },
  Next: (options) => {
    const fetch = forNext(options, (request) => new Response(tell(ofNext(request))))
    return createAdaptorServer({ fetch, createServer }) as Server
  },
}

for (const [name, open] of Object.entries(servers)) {
  test(`A handler of ${name} gets the payment of its request`, async (context) => {
    const server = await listen(await open(merchant))
    context.after(server.close)
    const purchase = await preparePurchase(service)
    const proof = await issueProof(service, purchase, '4.00')
    const answer = await fetch(`${server.url}/data`, { headers: { 'x-payment-proof': encode(proof) } })
    const { transaction_id: id, ...payment } = (await answer.json()) as Payment
    assert.match(id ?? '', /^txn_/)
    assert.deepEqual(payment, {
      amount: '4.00',
      currency: 'USDC',
      resource: 'https://api.example.com/data',
      merchant_domain: merchantDomain,
      category: 'data',
      nonce: proof.nonce,
      agent_id: purchase.agentId,
      mandate_id: purchase.mandateId,
    })
    assert.equal(await (await fetch(`${server.url}/free`)).text(), '"free"')
  })
}

const fetchers: Readonly<Record<string, (options: PaymentOptions, answer: Response) => Fetcher>> = {
  Hono: (options, answer) => {
    const app = new Hono().use(forHono(options))
    return app.get('/data', () => answer).fetch
  },
  'Fetch style': (options, answer) => forFetch(options, () => answer),
  Next: (options, answer) => forNext(options, () => answer),
}

type Fetcher = (request: Request) => Response | Promise<Response>

for (const [name, open] of Object.entries(fetchers)) {
  for (const capture of ['before', 'after', 'metered'] as const) {
    test(`A WebSocket upgrade reaches the server of ${name} unchanged, with capture: '${capture}'`, async () => {
      // As `Deno.upgradeWebSocket` returns it.
      const upgrade = Object.defineProperty(new Response(null), 'status', { value: 101 })
      const { answer, fate } = await buy(open({ ...merchant, capture }, upgrade))
      assert.equal(answer, upgrade)
      assert.equal(await fate(), 'captured')
    })

    test(`Response.error() of ${name} is a failure, with capture: '${capture}'`, async () => {
      const fetch = open({ ...merchant, capture }, Response.error())
      const { answer, fate, again } = await buy(fetch)
      assert.equal(answer.type, 'error')
      assert.equal(await fate(), capture === 'before' ? 'captured' : 'voided')
      // Goods that are charged already may come with the next attempt.
      assert.equal((await again()).status, capture === 'before' ? 0 : 402)
    })
  }
}

async function buy(fetch: Fetcher) {
  const proof = await issueProof(service, await preparePurchase(service), '4.00')
  const headers = { 'x-payment-proof': encode(proof) }
  const again = async () => fetch(new Request('https://api.example.com/data', { headers }))
  const fate = async () => (await service.call('GET', `/v1/payments/proofs/${proof.nonce}`)).body.status
  return { answer: await again(), again, fate }
}

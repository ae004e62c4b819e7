import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import { test } from 'node:test'

import { createAdaptorServer } from '@hono/node-server'
import { Purser } from '@purser/client'
import type { Challenge } from '@purser/merchant'
import { requirePayment as forExpress } from '@purser/merchant/express'
import { requirePayment as forFastify } from '@purser/merchant/fastify'
import { requirePayment as forFetch } from '@purser/merchant/fetch'
import { requirePayment as forHono } from '@purser/merchant/hono'
import { requirePayment as forNode } from '@purser/merchant/node'
import express, { type Request as ExpressRequest } from 'express'
import fastify, { type FastifyRequest } from 'fastify'
import { Hono, type Context } from 'hono'

import { listen } from '../testing/shop.ts'

// There are no payments here, so the client is never called.
const client = new Purser({ apiKey: null, baseUrl: 'http://127.0.0.1:1' })
const merchant = { client, merchantDomain: 'api.example.com' }

const amounts: Readonly<Record<string, string>> = { small: '1.00', large: '4.00' }
const priceOf = (plan: unknown) => amounts[String(plan)] ?? '9.00'
const searchOf = (url: string) => new URL(url, 'http://localhost').searchParams.get('plan')

/** A price computed from the framework's request, with its types. */
const servers: Readonly<Record<string, () => Server | Promise<Server>>> = {
  'node:http': () => {
    return createServer(
      forNode({ ...merchant, price: ({ url = '' }: IncomingMessage) => priceOf(searchOf(url)) }, () =>
        assert.fail(),
      ),
    )
  },
  'Express 5': () => {
    const app = express()
    const paid = forExpress({ ...merchant, price: ({ query }: ExpressRequest) => priceOf(query['plan']) })
    const shop = express.Router().get('/data', paid, () => assert.fail())
    app.use('/shop', shop)
    return createServer(app as RequestListener)
  },
  'Fastify 5': async () => {
    const app = fastify()
    await app.register(
      async (router) => {
        const preHandler = forFastify({
          ...merchant,
          price: ({ query }: FastifyRequest) => priceOf((query as Record<string, unknown>)['plan']),
        })
        router.get('/data', { preHandler }, () => assert.fail())
        // A fixed price does not constrain the request's type, which comes from the route.
        router.get('/fixed', { preHandler: forFastify({ ...merchant, price: '4.00' }) }, () => assert.fail())
      },
      {
        prefix: '/shop',
      },
    )
    await app.ready()
    return app.server
  },
  Hono: () => {
    const paid = forHono({ ...merchant, price: (context: Context) => priceOf(context.req.query('plan')) })
    const shop = new Hono().get('/data', paid, () => assert.fail())
    const app = new Hono().route('/shop', shop)
    return createAdaptorServer({ fetch: app.fetch, createServer }) as Server
  },
  'Fetch style': () => {
    const options = { ...merchant, price: ({ url }: Request) => priceOf(searchOf(url)) }
    const fetch = forFetch(options, () => assert.fail())
    return createAdaptorServer({ fetch, createServer }) as Server
  },
}

for (const [name, open] of Object.entries(servers)) {
  test(`A price is computed from the request of ${name}, and its resource has the complete path`, async (context) => {
    const server = await listen(await open())
    context.after(server.close)
    for (const [plan, amount] of Object.entries(amounts)) {
      const answer = await fetch(`${server.url}/shop/data?plan=${plan}`, {
        // A host given by the customer or a proxy is ignored.
        headers: {
          'x-forwarded-host': 'other.example',
          'x-forwarded-proto': 'ftp',
          forwarded: 'host=other.example',
        },
      })
      assert.equal(answer.status, 402)
      const challenge = (await answer.json()) as Challenge
      const resource = `https://api.example.com/shop/data?plan=${plan}`
      assert.deepEqual([challenge.amount, challenge.resource], [amount, resource])
    }
  })
}

test('A price function that leaves the handler no body sells nothing, and its merchant is told why', async () => {
  const errors: unknown[] = []
  const options = { ...merchant, onError: (error: unknown) => errors.push(error) }
  const ask = (price: (request: Request) => Promise<string>) =>
    forFetch({ ...options, price }, () => assert.fail())(
      new Request('https://api.example.com/data', { method: 'POST', body: 'large' }),
    )
  assert.equal((await ask(async (request) => priceOf(await request.text()))).status, 503)
  assert.match(String(errors), /request\.clone\(\)/)
  const answer = await ask(async (request) => priceOf(await request.clone().text()))
  assert.equal(((await answer.json()) as Challenge).amount, '4.00')
  assert.equal(errors.length, 1)
})

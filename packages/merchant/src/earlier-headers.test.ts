import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { test } from 'node:test'

import type { CaptureTime } from '@purser/merchant'
import { requirePayment as forExpress } from '@purser/merchant/express'
import { requirePayment as forFastify } from '@purser/merchant/fastify'
import { requirePayment as forHono } from '@purser/merchant/hono'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'

import { shareTestService } from '../../../service/testing/shared-service.ts'
import { listenWithFetch, voidBeforeCapture, type Adapter } from '../testing/adapters.ts'
import { openShop } from '../testing/purchase.ts'
import { listen } from '../testing/shop.ts'

const service = await shareTestService()

/** What the application sets for all its responses. */
const earlier = { 'cache-control': 'public, max-age=60', 'access-control-allow-origin': '*' }

const adapters: readonly Adapter[] = [
  {
    name: 'Express',
    open: (options) => {
      const app = express().set('env', 'test')
      app.use((_request, response, next) => {
        response.set(earlier)
        next()
      })
      app.get('/data', forExpress(options), (_request, response) => void response.send('goods'))
      return listen(createServer(app))
    },
  },
  {
    name: 'Fastify',
    open: async (options) => {
      const app = fastify()
      app.addHook('onRequest', async (_request, reply) => void reply.headers(earlier))
      app.get('/data', { preHandler: forFastify(options) }, () => 'goods')
      await app.ready()
      return listen(app.server)
    },
  },
  ...['prepared', 'begun'].map((how): Adapter => ({
    name: `Hono, ${how}`,
    open: (options) => {
      const app = new Hono()
      app.use(async (context, next) => {
        for (const [name, value] of Object.entries(earlier)) {
          if (how === 'begun') context.res.headers.set(name, value)
          else context.header(name, value)
        }
        await next()
      })
      app.get('/data', forHono(options), (context) => context.text('goods'))
      return listenWithFetch(app.fetch)
    },
  })),
]

const captures: readonly CaptureTime[] = ['before', 'after', 'metered']

for (const adapter of adapters) {
  for (const capture of captures) {
    test(`Headers of the application let no shared cache keep a price or paid goods (${adapter.name}, capture ${capture})`, async (context) => {
      const { get, proofFor, pay } = await openShop(context, service, adapter, { capture })
      const unpaid = await get('/data')
      assert.deepEqual([unpaid.status, unpaid.headers.get('cache-control')], [402, 'no-store'])
      assert.equal(unpaid.headers.get('access-control-allow-origin'), '*')
      const paid = await pay('/data', await proofFor('/data'))
      assert.deepEqual([paid.text, paid.headers.get('cache-control')], ['goods', 'private'])
      assert.equal(paid.headers.get('access-control-allow-origin'), '*')
    })
  }

  test(`A response that is withheld keeps the headers that the application has set before (${adapter.name})`, async (context) => {
    const voiding = voidBeforeCapture(adapter)
    const { proofFor, pay } = await openShop(context, service, voiding, { capture: 'after' })
    const { status, challenge, headers } = await pay('/data', await proofFor('/data'))
    assert.deepEqual([status, challenge.reason], [402, 'authorization_voided'])
    assert.equal(headers.get('cache-control'), 'no-store')
    assert.equal(headers.get('access-control-allow-origin'), '*')
  })
}

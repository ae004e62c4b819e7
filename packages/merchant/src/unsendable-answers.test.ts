import assert from 'node:assert/strict'
import { createServer, type ServerResponse } from 'node:http'
import { test } from 'node:test'

import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'

import { requirePayment as forExpress } from '@purser/merchant/express'
import { requirePayment as forFastify } from '@purser/merchant/fastify'
import { requirePayment as forFetch } from '@purser/merchant/fetch'
import { requirePayment as forHono } from '@purser/merchant/hono'
import { requirePayment as forNext } from '@purser/merchant/next'
import { requirePayment as forNode } from '@purser/merchant/node'

import { shareTestService } from '../../../service/testing/shared-service.ts'
import { listenWithFetch, type Adapter } from '../testing/adapters.ts'
import { catchCrashes } from '../testing/crashes.ts'
import { openShop } from '../testing/purchase.ts'
import { listen } from '../testing/shop.ts'

const service = await shareTestService()
const captures = ['before', 'after', 'metered'] as const

/** A response from a cache that was sent before, or whose text was logged. */
async function usedResponse(): Promise<Response> {
  const answer = new Response('goods')
  await answer.text()
  return answer
}

const withResponses: readonly Adapter[] = [
  { name: 'Fetch style', open: (options) => listenWithFetch(forFetch(options, usedResponse)) },
  {
    name: 'Hono',
    open: (options) => listenWithFetch(new Hono().get('/*', forHono(options), usedResponse).fetch),
  },
  { name: 'Next', open: (options) => listenWithFetch(forNext(options, usedResponse)) },
]
for (const adapter of withResponses) {
  for (const capture of captures) {
    test(`A used Response is not charged, or its proof can be sent again (${adapter.name}, capture ${capture})`, async (context) => {
      const { proofFor, pay, spent } = await openShop(context, service, adapter, { capture })
      const proof = await proofFor('/data')
      const first = await pay('/data', proof).catch(String)
      assert(typeof first === 'string' || first.status === 500)
      assert.equal(await spent(), capture === 'before' ? '4.00' : '0.00')
      const second = await pay('/data', proof).catch(String)
      assert(typeof second === 'string' || !second.text.includes('delivery_in_progress'))
    })
  }
}

/** What Node refuses to send. */
const refused: Readonly<Record<string, (response: ServerResponse) => unknown>> = {
  'an invalid status': (response) => {
    response.statusCode = 0
    response.end('goods')
  },
  'an invalid reason phrase': (response) => {
    response.statusMessage = 'caf\u00e9 \u2615'
    response.end('goods')
  },
}
/** What Node refuses only when the response is sent, after the charge. */
const refusedLate: typeof refused = {
  'an unknown encoding': (response) => response.end('goods', 'utf-9' as never),
  'more than a strict content-length': (response) => {
    response.strictContentLength = true
    response.setHeader('content-length', 3)
    response.end('goods')
  },
}
for (const [what, act] of Object.entries({ ...refused, ...refusedLate })) {
  for (const adapter of handling((_request, response) => void act(response))) {
    for (const capture of captures) {
      const isFree = capture !== 'before' && what in refused
      test(`A handler that sends ${what} ${isFree ? 'is not charged' : 'ends no process'} (${adapter.name}, capture ${capture})`, async (context) => {
        const crashes = catchCrashes(context)
        const { proofFor, pay, spent } = await openShop(context, service, adapter, { capture })
        const answer = await pay('/data', await proofFor('/data')).catch(String)
        assert(typeof answer === 'string' || answer.status === 500)
        assert.deepEqual(crashes, [])
        if (isFree) assert.equal(await spent(), '0.00')
      })
    }
  }
}

/** What an application does with a response while the payment is verified. */
const begun: typeof refused = {
  'answers itself': (response) => response.writeHead(503).end('too slow'),
  'keeps the connection busy': (response) => response.write(' '),
}
for (const [what, act] of Object.entries(begun)) {
  let isSlow = false
  const early = (response: ServerResponse) => void (isSlow && act(response))
  for (const adapter of handling((_request, response) => void response.end('goods'), early)) {
    for (const capture of captures) {
      test(`If an application ${what} during the verification, the same proof still buys, or nothing is charged (${adapter.name}, capture ${capture})`, async (context) => {
        const crashes = catchCrashes(context)
        const { proofFor, pay, spent } = await openShop(context, service, adapter, { capture })
        const proof = await proofFor('/data')
        isSlow = true
        const first = await pay('/data', proof).catch(String)
        isSlow = false
        if (typeof first === 'string' || !first.text.includes('goods')) {
          const { status, text, challenge } = await pay('/data', proof)
          if (status === 200) assert.equal(text, 'goods')
          else assert.deepEqual([challenge.reason, await spent()], ['authorization_voided', '0.00'])
        }
        assert.deepEqual(crashes, [])
      })
    }
  }
}

type Handle = (request: unknown, response: ServerResponse) => void

/** Servers whose handler gets Node's response; `early` runs during the verification. */
function handling(handle: Handle, early?: (response: ServerResponse) => void): readonly Adapter[] {
  const ofNode: Adapter = {
    name: 'node:http',
    open: (options) => {
      const sell = forNode(options, handle)
      return listen(
        createServer((request, response) => {
          sell(request, response)
          early?.(response)
        }),
      )
    },
  }
  const ofExpress: Adapter = {
    name: 'Express',
    open: (options) => {
      const app = express().set('env', 'test')
      app.use((_request, response, next) => {
        next()
        early?.(response)
      })
      app.get('/data', forExpress(options), handle)
      return listen(createServer(app))
    },
  }
  const ofFastify: Adapter = {
    name: 'Fastify',
    open: async (options) => {
      const app = fastify()
      app.addHook('onRequest', (_request, reply, done) => {
        done()
        early?.(reply.raw)
      })
      app.get('/data', { preHandler: forFastify(options) }, () => Promise.resolve('goods'))
      await app.ready()
      return listen(app.server)
    },
  }
  return early ? [ofNode, ofExpress, ofFastify] : [ofNode, ofExpress]
}

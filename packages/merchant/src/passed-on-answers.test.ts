import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Hono } from 'hono'

import type { Purser } from '@purser/client'
import type { PaymentOptions } from '@purser/merchant'
import { requirePayment as forFetch } from '@purser/merchant/fetch'
import { requirePayment as forHono } from '@purser/merchant/hono'
import { requirePayment as forNext } from '@purser/merchant/next'

import { finalizeGarbage } from '../../client/testing/collect-garbage.ts'
import { shareTestService } from '../../../service/testing/shared-service.ts'
import { startServer } from '../../client/testing/scripted-server.ts'
import { listenWithFetch } from '../testing/adapters.ts'
import { openShop } from '../testing/purchase.ts'

const service = await shareTestService()
const captures = ['before', 'after', 'metered'] as const

type FetchHandler = (request: Request) => Response | Promise<Response>

/** How a merchant sells what another server answers. */
const sellers: Readonly<Record<string, (options: PaymentOptions, handler: FetchHandler) => FetchHandler>> = {
  'Fetch style': (options, handler) => forFetch(options, handler),
  Hono: (options, handler) => new Hono().get('/*', forHono(options), ({ req }) => handler(req.raw)).fetch,
  Next: (options, handler) => forNext(options, handler),
}
for (const [name, sell] of Object.entries(sellers)) {
  for (const capture of captures) {
    for (const redeliverUnfinished of [true, false]) {
      const how = `${name}, capture ${capture}, redeliverUnfinished ${String(redeliverUnfinished)}`
      test(`Goods that are passed on from another server arrive, also if garbage is collected before they are read (${how})`, async (context) => {
        const goods = 'row\n'.repeat(50_000)
        const upstream = await startServer(context, (_request, response) => response.end(goods))
        const adapter = {
          name,
          open: (options: PaymentOptions) => {
            const paid = sell(withGarbage(options), () => fetch(upstream))
            return listenWithFetch(async (request) => {
              const answer = await paid(request)
              await finalizeGarbage()
              return answer
            })
          },
        }
        const { proofFor, pay, spent } = await openShop(context, service, adapter, {
          capture,
          redeliverUnfinished,
        })
        const { status, text } = await pay('/data', await proofFor('/data'))
        assert.equal(status, 200)
        assert.equal(text.length, goods.length)
        assert.equal(await spent(), capture === 'metered' ? '0.00' : '4.00')
      })
    }
  }
}

test('Goods of another server are cancelled there if the response is dropped unread', async (context) => {
  const { promise: closed, resolve } = Promise.withResolvers<void>()
  const upstream = await startServer(context, (_request, response) => {
    response.on('close', resolve)
    response.write('x'.repeat(100_000))
  })
  const adapter = {
    name: 'Fetch style',
    open: (options: PaymentOptions) => {
      const paid = forFetch(options, () => fetch(upstream))
      return listenWithFetch(async (request) => {
        const { status, headers } = await paid(request)
        return new Response(null, { status, headers })
      })
    },
  }
  const { proofFor, pay } = await openShop(context, service, adapter)
  assert.equal((await pay('/data', await proofFor('/data'))).status, 200)
  await finalizeGarbage()
  await closed
})

/** Collects garbage while a payment is captured. */
function withGarbage(options: PaymentOptions): PaymentOptions {
  const { payments } = options.client as Purser
  const capture: typeof payments.capture = async (...rest) => {
    await finalizeGarbage()
    return payments.capture(...rest)
  }
  return { ...options, client: { ...options.client, payments: { ...payments, capture } } }
}

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import { test } from 'node:test'

import type { Purser } from '@purser/client'
import type { PaymentOptions } from '@purser/merchant'
import express, { type ErrorRequestHandler } from 'express'
import { Hono } from 'hono'

import { requirePayment as forExpress } from '@purser/merchant/express'
import { requirePayment as forFetch } from '@purser/merchant/fetch'
import { requirePayment as forHono } from '@purser/merchant/hono'
import { paymentOf, requirePayment as forNode } from '@purser/merchant/node'

import { shareTestService } from '../../../service/testing/shared-service.ts'
import { listenWithFetch } from '../testing/adapters.ts'
import { encode, openShop } from '../testing/purchase.ts'
import { listen } from '../testing/shop.ts'

const service = await shareTestService()

test('What a handler still sends after it has failed does not leave, because it is not charged', async (context) => {
  let late: ServerResponse | undefined
  const adapter = {
    name: 'node:http',
    open: (options: Parameters<typeof forNode>[0]) =>
      listen(
        createServer(
          forNode(options, (_request, response) => {
            late = response
            purchase.proxy.set('hold answers')
            throw new Error('the log is full')
          }),
        ),
      ),
  }
  const purchase = await openShop(context, service, adapter, { capture: 'after' })
  const proof = await purchase.proofFor('/data')
  const buying = purchase.pay('/data', proof).catch((error: unknown) => ({ text: String(error) }))
  await purchase.proxy.holding() // void
  late?.end('the goods')
  purchase.proxy.set('pass')
  const { text } = await buying
  assert.equal(text.includes('the goods'), false, text)
  const { body } = await service.call('GET', `/v1/payments/proofs/${proof.nonce}`)
  assert.equal(body.status, 'voided')
  assert.equal(await purchase.spent(), '0.00')
})

for (const capture of ['before', 'after', 'metered'] as const) {
  test(`A failing handler’s unsent headers are not part of the error response (capture ${capture})`, async (context) => {
    const adapter = {
      name: 'node:http',
      open: (options: Parameters<typeof forNode>[0]) => {
        const sell = forNode(options, (_request, response) => {
          const head = { 'content-length': '100', 'cache-control': 'public, max-age=600', etag: '"1"' }
          response.setHeaders(new Map(Object.entries(head)))
          throw new Error('the log is full')
        })
        const withOrigin: RequestListener = (request, response) => {
          response.setHeader('access-control-allow-origin', '*')
          sell(request, response)
        }
        return listen(createServer(withOrigin))
      },
    }
    const { proofFor, pay } = await openShop(context, service, adapter, { capture })
    const proof = await proofFor('/data')
    const { status, text, headers, receipt } = await pay('/data', proof)
    assert.deepEqual([status, text, headers.get('etag')], [500, '', null])
    assert.deepEqual(
      [headers.get('cache-control'), headers.get('access-control-allow-origin')],
      ['private', '*'],
    )
    const nonce = capture === 'before' ? receipt?.nonce : headers.get('x-payment-voided')
    assert.equal(nonce, proof.nonce)
  })
}

for (const [refund, next] of [
  ['4.00', 402],
  ['1.00', 200],
] as const) {
  test(`A handler that fails and refunds ${refund} of 4.00 gets the customer’s next attempt with ${next}`, async (context) => {
    const adapter = {
      name: 'node:http',
      open: (options: Parameters<typeof forNode>[0]) => {
        let isFailing = true
        const sell = forNode(options, async (request, response) => {
          const status = isFailing ? 500 : 200
          if (isFailing) await sell.refund(paymentOf(request)?.transaction_id ?? '', refund)
          isFailing = false
          response.writeHead(status).end('the goods')
        })
        return listen(createServer(sell))
      },
    }
    const { proofFor, pay, spent } = await openShop(context, service, adapter, {})
    const proof = await proofFor('/data')
    assert.equal((await pay('/data', proof)).status, 500)
    const { status, challenge } = await pay('/data', proof)
    assert.equal(status, next)
    if (next === 402) assert.equal(challenge.reason, 'nonce_reused')
    assert.equal(await spent(), refund === '4.00' ? '0.00' : '3.00')
  })
}

for (const capture of ['after', 'metered'] as const) {
  test(`An error that onError of Hono answers with 200 is not charged (capture ${capture})`, async (context) => {
    const adapter = {
      name: 'Hono',
      open: (options: Parameters<typeof forHono>[0]) => {
        const app = new Hono()
        app.onError((_error, answer) => answer.json({ error: 'sorry' }, 200))
        app.get('/data', forHono(options), () => {
          throw new Error('the log is full')
        })
        return listenWithFetch(app.fetch)
      },
    }
    const { proofFor, pay, spent } = await openShop(context, service, adapter, { capture })
    const proof = await proofFor('/data')
    const { text } = await pay('/data', proof)
    assert.equal(text, '{"error":"sorry"}')
    assert.equal(await spent(), '0.00')
    const { body } = await service.call('GET', `/v1/payments/proofs/${proof.nonce}`)
    assert.equal(body.status, 'voided')
  })
}

test('A response that a Fetch-style handler throws is one, and is charged', async (context) => {
  for (const capture of ['before', 'after', 'metered'] as const) {
    const adapter = {
      name: 'Fetch style',
      open: (options: Parameters<typeof forFetch>[0]) =>
        listenWithFetch(
          forFetch(options, () => {
            // oxlint-disable-next-line no-throw-literal -- Some frameworks answer so.
            throw new Response('the goods', { status: 203 })
          }),
        ),
    }
    const { proofFor, pay, spent } = await openShop(context, service, adapter, { capture })
    const proof = await proofFor('/data')
    const bought = await pay('/data', proof)
    assert.deepEqual([bought.status, bought.text], [203, 'the goods'], capture)
    assert.equal(await spent(), '4.00')
    assert.equal((await pay('/data', proof)).challenge.reason, 'nonce_reused')
  }
})

for (const name of ['node:http', 'Express']) {
  for (const capture of ['after', 'metered'] as const) {
    test(
      `A response that a handler ends before it fails is charged once and sent (${name}, capture ${capture})`,
      { timeout: 10_000 },
      async (context) => {
        const charged = Promise.withResolvers<void>()
        const failed = Promise.withResolvers<void>()
        const handler = async (_request: object, response: ServerResponse) => {
          response.end('the goods')
          await charged.promise
          throw new Error('the log is full')
        }
        const adapter = {
          name,
          open: (options: PaymentOptions) => {
            const { payments } = options.client as Purser
            // The answer arrives after the error.
            const capture: typeof payments.capture = async (...args) => {
              const charge = await payments.capture(...args)
              charged.resolve()
              await failed.promise
              return charge
            }
            const client = { ...options.client, payments: { ...payments, capture } }
            const late = { ...options, client, onError: () => failed.resolve() }
            if (name === 'node:http') return listen(createServer(forNode(late, handler)))
            const app = express().set('env', 'test')
            app.get('/data', forExpress(late), handler)
            app.use(((error, _request, _response, next) => {
              next(error)
              setImmediate(failed.resolve)
            }) as ErrorRequestHandler)
            return listen(createServer(app as RequestListener))
          },
        }
        const { proofFor, pay, spent } = await openShop(context, service, adapter, { capture })
        const proof = await proofFor('/data')
        const { status, text } = await pay('/data', proof)
        assert.deepEqual([status, text], [200, 'the goods'])
        assert.equal(await spent(), '4.00')
        assert.equal((await pay('/data', proof)).challenge.reason, 'nonce_reused')
      },
    )
  }
}

for (const capture of ['before', 'after'] as const) {
  test(`A payment gets its answer, and later its goods, if onError throws or rejects (capture ${capture})`, async (context) => {
    for (const onError of [
      () => assert.fail('the log is full'),
      async () => assert.fail('the log is full'),
    ] as readonly (() => void)[]) {
      const adapter = {
        name: 'node:http',
        open: (options: Parameters<typeof forNode>[0]) =>
          listen(createServer(forNode(options, (_request, response) => response.end('the goods')))),
      }
      const purchase = await openShop(context, service, adapter, { capture, onError })
      const proof = await purchase.proofFor('/data')
      purchase.proxy.set('down')
      assert.equal((await purchase.pay('/data', proof)).status, 503)
      purchase.proxy.set('pass')
      const { status, text } = await purchase.pay('/data', proof)
      assert.deepEqual([status, text], [200, 'the goods'])
      assert.equal(await purchase.spent(), '4.00')
    }
  })
}

for (const capture of ['after', 'metered'] as const) {
  test(
    `The response for a customer who has left is cancelled (capture ${capture})`,
    { timeout: 10_000 },
    async (context) => {
      const entered = Promise.withResolvers<void>()
      const cancelled = Promise.withResolvers<void>()
      const body = new ReadableStream({ cancel: () => cancelled.resolve() })
      const adapter = {
        name: 'Fetch style',
        open: (options: Parameters<typeof forFetch>[0]) =>
          listenWithFetch(
            forFetch(options, async ({ signal }) => {
              entered.resolve()
              await once(signal, 'abort')
              return new Response(body)
            }),
          ),
      }
      const { proofFor, urlOf, spent } = await openShop(context, service, adapter, { capture })
      const headers = { 'x-payment-proof': encode(await proofFor('/data')) }
      const customer = new AbortController()
      const leaving = fetch(urlOf('/data'), { headers, signal: customer.signal })
      await entered.promise
      customer.abort()
      await assert.rejects(leaving)
      await cancelled.promise
      assert.equal(await spent(), '0.00')
    },
  )
}

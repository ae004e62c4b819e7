import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'

import type { Proof } from '@purser/client'
import type { Payment } from '@purser/merchant'
import { paymentOf as ofExpress, requirePayment as forExpress } from '@purser/merchant/express'
import { paymentOf as ofFastify, requirePayment as forFastify } from '@purser/merchant/fastify'
import { paymentOf as ofFetch, requirePayment as forFetch } from '@purser/merchant/fetch'
import { paymentOf as ofNode, requirePayment as forNode } from '@purser/merchant/node'
import express from 'express'
import fastify from 'fastify'

import { shareTestService } from '../../../service/testing/shared-service.ts'
import { adapters, listenWithFetch, type Adapter } from '../testing/adapters.ts'
import { encode, openShop, type Purchase } from '../testing/purchase.ts'
import { until } from '../testing/scenarios.ts'
import { listen } from '../testing/shop.ts'

const service = await shareTestService()
const options = { capture: 'metered', captureSeconds: 60 } as const

for (const adapter of adapters) {
  test(`A customer who stalls a metered stream until its deadline pays for what was sent (${adapter.name})`, async (context) => {
    const purchase = await openShop(context, service, adapter, options)
    const { urlOf, shop, spent } = purchase
    const proof = await proofNearDeadline(purchase, '/pages')
    const answer = await fetch(urlOf('/pages'), { headers: { 'x-payment-proof': encode(proof) } })
    const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader()
    assert.equal((await reader.read()).value, 'first page,')
    const fate = () => fateOf(proof)
    await until(async () => (await fate()).status === 'captured')
    service.clock.nowMs += 60_000
    await assert.rejects(async () => {
      for (let piece = await reader.read(); !piece.done; piece = await reader.read());
    })
    shop.open.resolve()
    assert.deepEqual([(await fate()).captured_amount, await spent()], ['0.75', '0.75'])
    assert.equal((await purchase.pay('/pages', proof)).challenge.reason, 'nonce_reused')
  })

  test(`A handler that meters when its connection closes is charged for what a stalled customer got (${adapter.name})`, async (context) => {
    const purchase = await openShop(context, service, adapter, options)
    const { urlOf, shop, spent } = purchase
    const proof = await proofNearDeadline(purchase, '/counted-stream')
    const answer = await fetch(urlOf('/counted-stream'), { headers: { 'x-payment-proof': encode(proof) } })
    await until(async () => (await fateOf(proof)).status === 'captured')
    assert.deepEqual([await spent(), shop.streamsEnded], ['0.75', 1])
    await assert.rejects(answer.bytes())
  })

  test(`A stream whose first byte leaves shortly before the deadline is cut off and charged too (${adapter.name})`, async (context) => {
    const purchase = await openShop(context, service, adapter, options)
    const { urlOf, shop, spent } = purchase
    const proof = await proofNearDeadline(purchase, '/late-stream')
    const asked = fetch(urlOf('/late-stream'), { headers: { 'x-payment-proof': encode(proof) } })
    await shop.entered.promise
    // A stream that had begun would have been cut off after 900 ms.
    await setTimeout(950)
    assert.equal((await fateOf(proof)).status, 'authorized')
    shop.open.resolve()
    const answer = await asked
    await until(async () => (await fateOf(proof)).status === 'captured')
    assert.deepEqual([await spent(), shop.streamsEnded], ['0.75', 1])
    await assert.rejects(answer.bytes())
  })

  test(`A metered stream that was charged, but cut off, comes again in full after the deadline (${adapter.name})`, async (context) => {
    const purchase = await openShop(context, service, adapter, options)
    const { proofFor, urlOf, shop, proxy, spent } = purchase
    const proof = await proofFor('/pages')
    const buy = () => fetch(urlOf('/pages'), { headers: { 'x-payment-proof': encode(proof) } })
    const unfinished = await buy()
    proxy.set('cut answers')
    shop.open.resolve()
    await assert.rejects(unfinished.text())
    assert.equal((await fateOf(proof)).status, 'captured')
    proxy.set('pass')
    service.clock.nowMs += 61_000
    shop.wait()
    const again = await buy()
    const reader = again.body!.pipeThrough(new TextDecoderStream()).getReader()
    assert.equal((await reader.read()).value, 'first page,')
    assert.equal(await spent(), '1.50')
    shop.open.resolve()
    assert.equal((await reader.read()).value, 'second page')
    assert.equal((await reader.read()).done, true)
    assert.equal(await spent(), '1.50')
  })
}

for (const how of ['stalls', 'disconnects'] as const) {
  test(`A customer who ${how} pays for what was sent, although the handler fails on a closed connection`, async (context) => {
    const adapter: Adapter = {
      name: 'node:http',
      open: (all, shop) =>
        listen(
          createServer(
            forNode(all, async (request, response) => {
              const goods = await shop.sell(request.url ?? '/', ofNode(request))
              await pipeline(goods as AsyncIterable<Uint8Array>, response)
            }),
          ),
        ),
    }
    const purchase = await openShop(context, service, adapter, options)
    const { urlOf, spent } = purchase
    const proof = await proofNearDeadline(purchase, '/counted-stream')
    const answer = await fetch(urlOf('/counted-stream'), { headers: { 'x-payment-proof': encode(proof) } })
    if (how === 'disconnects') await answer.body?.cancel()
    await until(async () => (await fateOf(proof)).status !== 'authorized')
    assert.deepEqual([(await fateOf(proof)).status, await spent()], ['captured', '0.75'])
    if (how === 'stalls') await assert.rejects(answer.bytes())
  })
}

/** A shop whose stream sends one page of 0.75, and whose cancellation never ends. */
function hangingShop(onAsked: () => void = () => undefined): Adapter {
  return {
    name: 'Fetch style',
    open: (all) =>
      listenWithFetch(
        forFetch(all, (request) => {
          onAsked()
          const page = (controller: ReadableStreamDefaultController) => {
            ofFetch(request)?.meter('0.75')
            controller.enqueue(Buffer.from('first page,'))
          }
          return new Response(new ReadableStream({ start: page, cancel: () => forever }))
        }),
      ),
  }
}

const forever = new Promise<never>(() => undefined)

for (const how of ['stalls', 'disconnects'] as const) {
  test(`A customer who ${how} pays for what was sent, although the cancelled stream of the handler never ends`, async (context) => {
    const purchase = await openShop(context, service, hangingShop(), options)
    const { urlOf, spent } = purchase
    const proof = await proofNearDeadline(purchase, '/pages')
    const answer = await fetch(urlOf('/pages'), { headers: { 'x-payment-proof': encode(proof) } })
    const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader()
    assert.equal((await reader.read()).value, 'first page,')
    if (how === 'disconnects') await reader.cancel()
    await until(async () => (await fateOf(proof)).status !== 'authorized')
    assert.deepEqual([(await fateOf(proof)).status, await spent()], ['captured', '0.75'])
    if (how === 'stalls') await assert.rejects(reader.read())
  })
}

const filmBytes = 24_000_000
const pieceBytes = 65_536

async function* film(payment: Payment | undefined): AsyncGenerator<Uint8Array> {
  for (let sent = pieceBytes; sent < filmBytes; sent += pieceBytes) {
    payment?.meter(((4 * sent) / filmBytes).toFixed(2))
    yield new Uint8Array(pieceBytes)
  }
}

/** Handlers with a time limit for the whole stream, which passes while the customer does not read. */
const limited: readonly Adapter[] = [
  {
    name: 'node:http',
    open: (all) =>
      listen(
        createServer(
          forNode(all, async (request, response) => {
            const frames = Readable.from(film(ofNode(request)), { objectMode: false })
            await pipeline(frames, response, { signal: timeLimit() }).catch(() => undefined)
          }),
        ),
      ),
  },
  {
    name: 'Express',
    open: (all) => {
      const app = express().set('env', 'test')
      app.get('/film', forExpress(all), async (request, response) => {
        const frames = Readable.from(film(ofExpress(request)), { objectMode: false })
        await pipeline(frames, response, { signal: timeLimit() })
      })
      return listen(createServer(app))
    },
  },
  {
    name: 'Fastify',
    open: async (all) => {
      const app = fastify()
      app.get('/film', { preHandler: forFastify(all) }, (request, reply) =>
        reply.send(Readable.from(film(ofFastify(request)), { objectMode: false, signal: timeLimit() })),
      )
      await app.ready()
      return listen(app.server)
    },
  },
  {
    name: 'Fetch style',
    open: (all) =>
      listenWithFetch(
        forFetch(all, (request) => {
          const frames = Readable.toWeb(Readable.from(film(ofFetch(request)))) as ReadableStream<Uint8Array>
          return new Response(frames.pipeThrough(new TransformStream(), { signal: timeLimit() }))
        }),
      ),
  },
  {
    name: 'node:http, a transformed upload and server.timeout',
    open: async (all) => {
      const server = createServer(
        forNode(all, async (request, response) => {
          let bytes = 0
          const copy = new Transform({
            transform(piece: Buffer, _encoding, done) {
              bytes += piece.length
              ofNode(request)?.meter((bytes / 1_000_000).toFixed(2))
              done(null, piece)
            },
          })
          await pipeline(request, copy, response).catch(() => undefined)
        }),
      )
      server.timeout = timeLimitMs
      return listen(server)
    },
  },
]
const timeLimitMs = 1_000
const timeLimit = () => AbortSignal.timeout(timeLimitMs)

for (const adapter of limited) {
  test(`A customer who stalls until a time limit of the merchant ends the stream pays for what was sent (${adapter.name})`, async (context) => {
    const purchase = await openShop(context, service, adapter, { capture: 'metered' })
    const proof = await purchase.proofFor('/film')
    const { hostname, port } = new URL(purchase.urlOf('/'))
    const socket = connect(Number(port), hostname).on('error', () => undefined)
    context.after(() => socket.destroy())
    const head = `Host: x\r\nX-Payment-Proof: ${encode(proof)}\r\n`
    if (adapter.name.includes('upload')) {
      // All but the last byte.
      socket.write(`POST /film HTTP/1.1\r\n${head}Content-Length: 2000001\r\n\r\n${'x'.repeat(2_000_000)}`)
      socket.resume()
    } else {
      socket.write(`GET /film HTTP/1.1\r\n${head}\r\n`)
      await once(socket, 'readable')
      await setTimeout(timeLimitMs * 1.5)
      socket.resume()
    }
    await until(async () => !['open', 'authorized'].includes((await fateOf(proof)).status))
    assert.equal((await fateOf(proof)).status, 'captured')
    assert.notEqual(await purchase.spent(), '0.00')
  })
}

test('The refusal of a charge is sent, although the cancelled stream of the handler never ends', async (context) => {
  // The deadline passes while the handler runs.
  const shop = hangingShop(() => (service.clock.nowMs += 61_000))
  const { proofFor, pay, spent } = await openShop(context, service, shop, { ...options, capture: 'after' })
  const { status } = await pay('/pages', await proofFor('/pages'))
  assert.deepEqual([status, await spent()], [402, '0.00'])
})

/** A proof that is authorized, with a second to its deadline, because the answer was lost and a minute has passed. */
async function proofNearDeadline({ proofFor, pay, proxy }: Purchase, path: string): Promise<Proof> {
  const proof = await proofFor(path)
  proxy.set('cut answers')
  assert.equal((await pay(path, proof)).status, 503)
  proxy.set('pass')
  service.clock.nowMs += 59_000
  return proof
}

async function fateOf({ nonce }: Proof) {
  return (await service.call('GET', `/v1/payments/proofs/${nonce}`)).body
}

import assert from 'node:assert/strict'
import { createServer, request as send, ServerResponse, type IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'

import type { Proof } from '@purser/client'
import { requirePayment as forExpress } from '@purser/merchant/express'
import { requirePayment as forFastify } from '@purser/merchant/fastify'
import type { CaptureTime } from '@purser/merchant'
import express from 'express'
import fastify from 'fastify'

import { shareTestService } from '../../../service/testing/shared-service.ts'
import { voidBeforeCapture, type Adapter } from '../testing/adapters.ts'
import { encode, openShop } from '../testing/purchase.ts'
import { listen } from '../testing/shop.ts'

const service = await shareTestService()

type Listener = (request: IncomingMessage, response: ServerResponse) => void

/** Like the WebSocket plugins of both frameworks: an upgrade is routed with a response of its own, and answered on the socket. */
function withUpgrades(listener: Listener) {
  const server = createServer(listener)
  server.on('upgrade', (request: IncomingMessage, socket: Duplex) => {
    const response = new ServerResponse(request)
    response.assignSocket(socket as never)
    listener(request, response)
  })
  return listen(server)
}

const goods = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\ngoods'

const adapters: readonly Adapter[] = [
  {
    name: 'Express',
    open: (options) => {
      const app = express().set('env', 'test')
      app.get('/ticks', forExpress(options), ({ socket }) => void socket.end(goods))
      return withUpgrades(app as Listener)
    },
  },
  {
    name: 'Fastify',
    open: async (options) => {
      const app = fastify()
      app.get('/ticks', { preHandler: forFastify(options) }, ({ raw }, reply) => {
        reply.hijack()
        raw.socket.end(goods)
      })
      await app.ready()
      return withUpgrades(app.routing)
    },
  },
]

/** The status of an upgrade, and what arrives over it. */
function upgrade(url: string, proof?: Proof): Promise<{ status: number; text: string }> {
  const headers = {
    connection: 'Upgrade',
    upgrade: 'websocket',
    ...(proof && { 'x-payment-proof': encode(proof) }),
  }
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>()
  const asked = send(url, { headers, agent: false }).on('error', reject)
  const answer = async ({ statusCode = 0 }: IncomingMessage, stream: NodeJS.ReadableStream, head = '') =>
    resolve({ status: statusCode, text: head + (await text(stream)) })
  asked.on('upgrade', (response, socket, head) => void answer(response, socket, head.toString()))
  asked.on('response', (response) => void answer(response, response))
  asked.end()
  return promise
}

const captures: readonly CaptureTime[] = ['before', 'after', 'metered']

for (const adapter of adapters) {
  for (const capture of captures) {
    test(
      `A WebSocket is charged before it opens, and opens once (${adapter.name}, capture ${capture})`,
      { timeout: 10_000 },
      async (context) => {
        const { proofFor, urlOf, spent } = await openShop(context, service, adapter, { capture })
        assert.equal((await upgrade(urlOf('/ticks'))).status, 402)
        const proof = await proofFor('/ticks')
        assert.deepEqual(await upgrade(urlOf('/ticks'), proof), { status: 101, text: 'goods' })
        assert.equal(await spent(), '4.00')
        const again = await upgrade(urlOf('/ticks'), proof)
        assert.equal(again.status, 402)
        assert.match(again.text, /nonce_reused/)
        assert.equal(await spent(), '4.00')
      },
    )
  }

  test(
    `A WebSocket whose payment cannot be captured does not open (${adapter.name})`,
    { timeout: 10_000 },
    async (context) => {
      const voiding = voidBeforeCapture(adapter)
      const { proofFor, urlOf, spent } = await openShop(context, service, voiding, { capture: 'after' })
      const answer = await upgrade(urlOf('/ticks'), await proofFor('/ticks'))
      assert.equal(answer.status, 402)
      assert.match(answer.text, /authorization_voided/)
      assert.equal(await spent(), '0.00')
    },
  )
}

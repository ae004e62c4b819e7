import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

import { createAdaptorServer } from '@hono/node-server'
import express from 'express'
import fastify, { type FastifyReply } from 'fastify'
import { Hono } from 'hono'

import { paymentOf as ofExpress, requirePayment as forExpress } from '@purser/merchant/express'
import { paymentOf as ofFastify, requirePayment as forFastify } from '@purser/merchant/fastify'
import { paymentOf as ofFetch, requirePayment as forFetch } from '@purser/merchant/fetch'
import { paymentOf as ofHono, requirePayment as forHono } from '@purser/merchant/hono'
import { paymentOf as ofNode, requirePayment as forNode } from '@purser/merchant/node'
import type { Purser } from '@purser/client'
import type { PaymentOptions } from '@purser/merchant'

import { listen, textOf, type Goods, type OpenServer, type Shop } from './shop.ts'

/** A framework with its adapter. */
export interface Adapter {
  readonly name: string
  /** Whether the framework answers errors where the middleware cannot add headers. */
  readonly hidesErrors?: true
  readonly open: (options: PaymentOptions, shop: Pick<Shop, 'sell'>) => Promise<OpenServer>
}

/** The adapter with a payment that is voided just before its capture, which then fails. */
export function voidBeforeCapture(adapter: Adapter): Adapter {
  return {
    ...adapter,
    open: (options, shop) => {
      const { payments } = options.client as Purser
      const capture: typeof payments.capture = async (nonce, ...rest) => {
        await payments.void(nonce)
        return payments.capture(nonce, ...rest)
      }
      const client = { ...options.client, payments: { ...payments, capture } }
      return adapter.open({ ...options, client }, shop)
    },
  }
}

export const adapters: readonly Adapter[] = [
  {
    name: 'node:http',
    open: (options, shop) =>
      listen(
        createServer(
          forNode(options, async (request, response) => {
            sendGoods(response, await shop.sell(request.url ?? '/', ofNode(request)))
          }),
        ),
      ),
  },
  {
    name: 'Express 5',
    open: (options, shop) => {
      const app = express().set('env', 'test')
      app.get('/{*path}', forExpress(options), async (request, response) => {
        sendGoods(response, await shop.sell(request.path, ofExpress(request)))
      })
      return listen(createServer(app as (request: IncomingMessage, response: ServerResponse) => void))
    },
  },
  {
    name: 'Fastify 5',
    open: async (options, shop) => {
      const app = fastify()
      app.get('/*', { preHandler: forFastify(options) }, async (request, reply) => {
        return sendFastify(reply, await shop.sell(request.url, ofFastify(request)))
      })
      await app.ready()
      return listen(app.server)
    },
  },
  {
    name: 'Hono',
    open: (options, shop) => {
      const app = new Hono()
      app.get('/*', forHono(options), async (context) => {
        return toResponse(await shop.sell(context.req.path, ofHono(context)))
      })
      app.onError((_, context) => context.text('Internal Server Error', 500))
      return listenWithFetch(app.fetch)
    },
  },
  {
    name: 'Fetch style',
    open: (options, shop) =>
      listenWithFetch(
        forFetch(options, async (request) => {
          return toResponse(await shop.sell(new URL(request.url).pathname, ofFetch(request)))
        }),
      ),
  },
]

export function listenWithFetch(
  fetch: (request: Request) => Response | Promise<Response>,
): Promise<OpenServer> {
  return listen(createAdaptorServer({ fetch }))
}

export function sendGoods(response: ServerResponse, goods: Goods): void {
  const text = textOf(goods)
  if (text) response.writeHead(text.status).end(text.text)
  // A customer who disconnects ends the stream; that is not an error of the shop.
  else pipeline(streamOf(goods), response).catch(() => undefined)
}

export function sendFastify(reply: FastifyReply, goods: Goods): FastifyReply {
  const text = textOf(goods)
  return text ? reply.code(text.status).send(text.text) : reply.send(streamOf(goods))
}

export function toResponse(goods: Goods): Response {
  const text = textOf(goods)
  if (text) return new Response(text.text, { status: text.status })
  return new Response(Readable.toWeb(streamOf(goods)) as ReadableStream)
}

function streamOf(goods: Goods): Readable {
  return Readable.from(goods as AsyncIterable<Uint8Array>, { objectMode: false })
}

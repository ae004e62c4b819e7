import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

import { createAdaptorServer } from '@hono/node-server'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'

import { requirePayment as forExpress } from '@purser/merchant/express'
import { requirePayment as forFastify } from '@purser/merchant/fastify'
import { requirePayment as forFetch } from '@purser/merchant/fetch'
import { requirePayment as forHono } from '@purser/merchant/hono'
import { requirePayment as forNode } from '@purser/merchant/node'
import type { PaymentOptions } from '@purser/merchant'

import { listen, type Goods, type OpenServer, type Shop } from './shop.ts'

/** A framework with its adapter. */
export interface Adapter {
  readonly name: string
  readonly open: (options: PaymentOptions, shop: Pick<Shop, 'sell'>) => Promise<OpenServer>
}

export const adapters: readonly Adapter[] = [
  {
    name: 'node:http',
    open: (options, shop) =>
      listen(
        createServer(
          forNode(options, async (request, response) => {
            sendGoods(response, await shop.sell(request.url ?? '/'))
          }),
        ),
      ),
  },
  {
    name: 'Express 5',
    open: (options, shop) => {
      const app = express().set('env', 'test')
      app.get('/{*path}', forExpress(options), async (request, response) => {
        sendGoods(response, await shop.sell(request.path))
      })
      return listen(createServer(app as (request: IncomingMessage, response: ServerResponse) => void))
    },
  },
  {
    name: 'Fastify 5',
    open: async (options, shop) => {
      const app = fastify()
      app.get('/*', { preHandler: forFastify(options) }, async (request, reply) => {
        const goods = await shop.sell(request.url)
        return reply.send(typeof goods === 'string' ? goods : Readable.from(goods, { objectMode: false }))
      })
      await app.ready()
      return listen(app.server)
    },
  },
  {
    name: 'Hono',
    open: (options, shop) => {
      const app = new Hono()
      app.get('/*', forHono(options), async (context) => toResponse(await shop.sell(context.req.path)))
      app.onError((_, context) => context.text('Internal Server Error', 500))
      return listenWithFetch(app.fetch)
    },
  },
  {
    name: 'Fetch style',
    open: (options, shop) =>
      listenWithFetch(
        forFetch(options, async (request) => toResponse(await shop.sell(new URL(request.url).pathname))),
      ),
  },
]

function listenWithFetch(fetch: (request: Request) => Response | Promise<Response>): Promise<OpenServer> {
  return listen(createAdaptorServer({ fetch }) as ReturnType<typeof createServer>)
}

function sendGoods(response: ServerResponse, goods: Goods): void {
  if (typeof goods === 'string') response.end(goods)
  // A customer who disconnects ends the stream; that is not an error of the shop.
  else pipeline(Readable.from(goods, { objectMode: false }), response).catch(() => undefined)
}

export function toResponse(goods: Goods): Response {
  if (typeof goods === 'string') return new Response(goods)
  return new Response(Readable.toWeb(Readable.from(goods, { objectMode: false })) as ReadableStream)
}

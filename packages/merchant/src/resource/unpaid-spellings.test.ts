import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join, normalize } from 'node:path'
import { after, describe, test } from 'node:test'
import * as legacyUrl from 'node:url'

import { createAdaptorServer } from '@hono/node-server'
import { Purser } from '@purser/client'
import { requirePayment as forExpress } from '@purser/merchant/express'
import { requirePayment as forFastify } from '@purser/merchant/fastify'
import { requirePayment as forFetch } from '@purser/merchant/fetch'
import { requirePayment as forHono } from '@purser/merchant/hono'
import { requirePayment as forNode } from '@purser/merchant/node'
import express from 'express'
import fastify, { type FastifyServerOptions } from 'fastify'
import { Hono } from 'hono'

import { sendAll } from '../../testing/raw-requests.ts'
import { listen } from '../../testing/shop.ts'
import { spellingsOf, type RawRequest } from '../../testing/spellings.ts'

const goods = 'GOODS'
const seed = 20261123
const count = 700

const client = new Purser({ apiKey: 'svc_sand_none', baseUrl: 'http://127.0.0.1:1' })
const routes = {
  'GET /report': { price: '4.00' },
  'GET /archive/:year': { price: '2.00' },
  'GET /files/*': { price: '1.00' },
}
const merchant = { client, merchantDomain: 'shop.example', routes }
const paths = ['/report', '/archive/2024', '/archive/', '/files/a'] as const

/** The requests that Node's parser accepts, with and without a mount. */
const spellings = {
  '': await readableOf(spellingsOf(paths, count, seed)),
  '/shop': await readableOf(
    spellingsOf(['/shop/report', '/shop/archive/2024', '/shop/archive/', '/shop/files/a'], count, seed),
  ),
}

async function readableOf(requests: readonly RawRequest[]): Promise<RawRequest[]> {
  const server = await listen(createServer((_, response) => response.end()))
  const answers = await sendAll(server.url, requests)
  await server.close()
  return requests.filter((_, index) => answers[index]?.status === 200)
}

const folder = mkdtempSync(join(tmpdir(), 'purser-test-'))
for (const name of ['archive', 'files', 'shop']) mkdirSync(join(folder, name))
for (const name of ['report', 'archive/2024', 'files/a']) writeFileSync(join(folder, name), goods)
writeFileSync(join(folder, 'free'), 'free')
after(() => rmSync(folder, { recursive: true, force: true }))

const isPaidPath = (path: string) => /^\/(?:report|archive\/[^/]*|files(?:\/.*)?)$/.test(path)
const toFile = (path: string) => normalize(join('/', path)).replaceAll('\\', '/')

/** How handlers on `node:http` derive a path from a request; all of these appear in tutorials. */
const readings: Readonly<Record<string, (request: IncomingMessage) => string>> = {
  'string comparison': ({ url = '' }) => url.split('?')[0] ?? '',
  'new URL(url, base)': ({ url = '' }) => new URL(url, 'http://localhost').pathname,
  'new URL(url, base), decoded': ({ url = '' }) =>
    decodeURIComponent(new URL(url, 'http://localhost').pathname),
  'new URL(decoded url, base)': ({ url = '' }) =>
    new URL(decodeURIComponent(url), 'http://localhost').pathname,
  'new URL(host + url)': ({ url = '', headers }) => new URL(`http://${headers.host}${url}`).pathname,
  'new URL("file:" + url)': ({ url = '' }) => new URL(url, 'file:///').pathname,
  'url.parse': ({ url = '' }) => legacyUrl.parse(url).pathname ?? '',
  'url.parse with slashes for hosts': ({ url = '' }) => legacyUrl.parse(url, false, true).pathname ?? '',
  'path.join(folder, url)': ({ url = '' }) => toFile(url),
  'path.join(folder, decoded path)': ({ url = '' }) => toFile(decodeURIComponent(url.split('?')[0] ?? '')),
  'path.join(folder, decoded url)': ({ url = '' }) => toFile(decodeURIComponent(url)),
  'decoded twice': ({ url = '' }) => toFile(decodeURIComponent(decodeURIComponent(url.split('?')[0] ?? ''))),
  'split at slashes': ({ url = '' }) => `/${url.split(/[?#;]/)[0]?.split('/').filter(Boolean).join('/')}`,
  'case and backslashes ignored': ({ url = '' }) =>
    (url.split('?')[0] ?? '').toLowerCase().replaceAll('\\', '/').replace(/\/+/g, '/'),
  'parameters of segments dropped': ({ url = '' }) => (url.split('?')[0] ?? '').replace(/;[^/]*/g, ''),
}

interface Router {
  /** The path at which the routes are mounted. */
  readonly mount?: '/shop'
  /** Serves the routes; behind a gate unless `isOpen`. */
  readonly open: (isOpen: boolean) => Server | Promise<Server>
}

const node = (read: (request: IncomingMessage) => string): Router => {
  const handle: RequestListener = (request, response) => {
    try {
      response.end(isPaidPath(read(request)) ? goods : 'free')
    } catch {
      response.writeHead(400).end()
    }
  }
  return { open: (isOpen) => createServer(isOpen ? handle : forNode(merchant, handle)) }
}

const letAllPass: express.RequestHandler = (_, __, next) => next()

const expressApp = (build: (gate: express.RequestHandler) => express.Express, mount?: '/shop'): Router => ({
  ...(mount && { mount }),
  open: (isOpen) => {
    const gate = isOpen ? letAllPass : forExpress(merchant)
    return createServer(build(gate) as RequestListener)
  },
})

const sell: express.RequestHandler = (_, response) => void response.send(goods)

function withExpressRoutes<App extends express.Router>(app: App): App {
  for (const path of ['/report', '/archive/:year', '/files{/*path}']) app.get(path, sell)
  return app
}

const fastifyApp = (options: FastifyServerOptions, mount?: '/shop'): Router => ({
  ...(mount && { mount }),
  open: async (isOpen) => {
    const app = fastify(options)
    await app.register(
      async (scope) => {
        if (!isOpen) scope.addHook('preHandler', forFastify(merchant))
        for (const path of ['/report', '/archive/:year', '/files', '/files/*']) scope.get(path, () => goods)
      },
      mount ? { prefix: mount } : {},
    )
    await app.ready()
    return app.server
  },
})

type HonoOptions = ConstructorParameters<typeof Hono>[0] & { readonly mount?: '/shop' }

const honoApp = (build: (shop: Hono) => Hono, { mount, ...options }: HonoOptions = {}): Router => ({
  ...(mount && { mount }),
  open: (isOpen) => {
    const shop = new Hono(options)
    if (!isOpen) shop.use(forHono(merchant))
    for (const path of ['/report', '/archive/:year', '/files/*'])
      shop.get(path, (context) => context.text(goods))
    return createAdaptorServer({ fetch: build(shop).fetch, createServer }) as Server
  },
})

const fetchHandler = (read: (request: Request) => string): Router => {
  const handle = (request: Request) => new Response(isPaidPath(read(request)) ? goods : 'free')
  return {
    open: (isOpen) => {
      const fetch = isOpen ? handle : forFetch(merchant, handle)
      return createAdaptorServer({ fetch, createServer }) as Server
    },
  }
}

/** Strips a prefix, like a reverse proxy or an API version. */
const stripPrefix = (url: string) => url.replace(/^\/old(?=\/)/, '').replace(/^\/+shop(?=\/)/i, '')

const routers: Readonly<Record<string, Router>> = {
  ...Object.fromEntries(Object.entries(readings).map(([name, read]) => [`node:http, ${name}`, node(read)])),
  'Express 5': expressApp((gate) => withExpressRoutes(express().use(gate))),
  'Express 5, files': expressApp((gate) => express().use(gate).use(express.static(folder))),
  'Express 5, a mounted router': expressApp(
    (gate) => express().use('/shop', withExpressRoutes(express.Router().use(gate))),
    '/shop',
  ),
  'Express 5, a mounted app': expressApp(
    (gate) => express().use('/shop', withExpressRoutes(express().use(gate))),
    '/shop',
  ),
  'Express 5, a mounted gate': expressApp(
    (gate) => express().use('/shop', gate).use('/shop', withExpressRoutes(express.Router())),
    '/shop',
  ),
  'Express 5, a rewritten URL': expressApp((gate) =>
    withExpressRoutes(
      express()
        .use((request, _, next) => {
          request.url = stripPrefix(request.url)
          next()
        })
        .use(gate),
    ),
  ),
  'Fastify 5': fastifyApp({}),
  'Fastify 5, tolerant': fastifyApp({
    routerOptions: {
      caseSensitive: false,
      ignoreDuplicateSlashes: true,
      ignoreTrailingSlash: true,
    },
    useSemicolonDelimiter: true,
  }),
  'Fastify 5, rewriteUrl': fastifyApp({ rewriteUrl: ({ url = '' }) => stripPrefix(url) }),
  'Fastify 5, rewriteUrl by new URL': fastifyApp({
    rewriteUrl: ({ url = '' }) =>
      URL.canParse(url, 'http://x') ? new URL(url, 'http://x').pathname : '/free',
  }),
  'Fastify 5, a plugin with a prefix': fastifyApp({}, '/shop'),
  Hono: honoApp((shop) => shop),
  'Hono, not strict': honoApp((shop) => shop, { strict: false }),
  'Hono, a routed app': honoApp((shop) => new Hono().route('/shop', shop), { mount: '/shop' }),
  'Hono, a mounted app': honoApp((shop) => new Hono().mount('/shop', shop.fetch), { mount: '/shop' }),
  'Hono, a path of its own making': honoApp((shop) => shop, {
    getPath: (request) => stripPrefix(new URL(request.url).pathname),
  }),
  'Fetch style, new URL(url)': fetchHandler(({ url }) => new URL(url).pathname),
  'Fetch style, new URL(path, base)': fetchHandler(
    ({ url }) => new URL(new URL(url).pathname, 'http://localhost').pathname,
  ),
}

describe(`None of ${count} spellings gets paid goods for free`, () => {
  for (const [name, router] of Object.entries(routers)) {
    test(name, async (context) => {
      const open = await listen(await router.open(true))
      context.after(open.close)
      const gated = await listen(await router.open(false))
      context.after(gated.close)

      const requests = spellings[router.mount ?? '']
      const answers = await sendAll(open.url, requests)
      const reaching = requests.filter((_, index) => answers[index]?.text === goods)
      assert.ok(
        reaching.length >= 20,
        `only ${reaching.length} spellings reach the goods: this proves little`,
      )

      const charged = await sendAll(gated.url, reaching)
      const free = reaching.filter((_, index) => charged[index]?.text === goods)
      assert.deepEqual(free, [], `${free.length} of ${reaching.length} got the goods without a payment`)
      for (const answer of charged) {
        assert.ok([400, 402].includes(answer.status), JSON.stringify(answer))
      }
    })
  }
})

describe('No path in a header gets paid goods for free', () => {
  const tricks = {
    'X-Forwarded-Proto': 'http://localhost/report?',
    'X-Forwarded-Host': 'localhost/report?',
    'X-Forwarded-Port': '80/report?',
  }
  const byHeader = {
    'node:http': node(({ headers, url = '' }) => {
      return readUrl((name) => headers[name]?.toString(), url).pathname
    }),
    'Fetch style': fetchHandler(({ headers, url }) => {
      return readUrl((name) => headers.get(name), new URL(url).pathname).pathname
    }),
  }
  for (const [name, router] of Object.entries(byHeader)) {
    test(name, async (context) => {
      for (const isOpen of [true, false]) {
        const server = await listen(await router.open(isOpen))
        context.after(server.close)
        for (const [header, value] of Object.entries(tricks)) {
          const answer = await fetch(`${server.url}/free`, { headers: { [header]: value } })
          assert.equal(answer.status, isOpen ? 200 : 400, header)
        }
        const plain = { 'x-forwarded-proto': 'https', 'x-forwarded-port': '443' }
        assert.equal(await (await fetch(`${server.url}/free`, { headers: plain })).text(), 'free')
      }
    })
  }
})

/** Koa derives `ctx.URL` like this behind a proxy, and others include the port. */
function readUrl(header: (name: string) => string | null | undefined, path: string): URL {
  const protocol = header('x-forwarded-proto') ?? 'http'
  const host = (header('x-forwarded-host') ?? header('host') ?? '').split(':')[0]
  return new URL(`${protocol}://${host}:${header('x-forwarded-port') ?? 80}${path}`)
}

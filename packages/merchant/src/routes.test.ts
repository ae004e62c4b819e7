import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request as sendRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'

import { createAdaptorServer } from '@hono/node-server'
import { Purser } from '@purser/client'
import type { PaymentOptions } from '@purser/merchant'
import { requirePayment as forExpress } from '@purser/merchant/express'
import { requirePayment as forFastify } from '@purser/merchant/fastify'
import { requirePayment as forHono } from '@purser/merchant/hono'
import { requirePayment as forNode } from '@purser/merchant/node'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { createServer, type Server } from 'node:http'

import { listen } from '../testing/shop.ts'
import { compileRoutes } from './routes.ts'

const find = compileRoutes({
  'GET /data': 'data',
  'POST /reports/:id': 'report',
  '/files/*': 'file',
  'GET /people/:name/photo': 'photo',
})

const cases: readonly [method: string, target: string, found: string | undefined][] = [
  ['GET', '/data', 'data'],
  ['HEAD', '/data', 'data'],
  ['POST', '/data', undefined],
  ['GET', '/data?free=1', 'data'],
  ['GET', '/data/', 'data'],
  ['GET', '//data', 'data'],
  ['GET', '/DATA', 'data'],
  ['GET', '/d%61ta', 'data'],
  ['GET', '/data;v=1', 'data'],
  ['GET', '/data;v=1/more', 'data'],
  ['GET', 'http://other.example/data', 'data'],
  ['GET', '/./data', 'data'],
  ['GET', '/x/../data', 'data'],
  ['GET', '/x//../data', 'data'],
  ['GET', '/x/%2E%2e/data', 'data'],
  ['GET', '/x%2f..%2Fdata', 'data'],
  ['GET', '/x\\..\\data', 'data'],
  ['GET', '/x;/../data', 'data'],
  ['GET', '/../data/.', 'data'],
  ['GET', '/data/more/..', 'data'],
  ['GET', '/more/../data/more', undefined],
  ['DELETE', '/x/../files/a/../b', 'file'],
  ['GET', '/data/more', undefined],
  ['GET', '/', undefined],
  ['POST', '/reports/7', 'report'],
  ['POST', '/reports/7%2F8', 'report'],
  ['POST', '/%72eports/7%2F8', 'report'],
  ['POST', '/reports/%', 'report'],
  ['POST', '/reports/', undefined],
  ['POST', '/reports/7/8', undefined],
  ['DELETE', '/files/a/b', 'file'],
  ['GET', '/files', 'file'],
  ['GET', '/filesystem', undefined],
  ['GET', '/people/jo/photo', 'photo'],
]

for (const [method, target, found] of cases) {
  test(`In a table of routes, ${method} ${target} is ${found ?? 'free'} [decision.99]`, () => {
    assert.equal(find(method, target), found)
  })
}

const wrongPatterns = [
  ['data', 'get /data', '/a/*/b', '/a*b', 'GET  data', '', '/a b', ' /a', 'GET', 'http://x.com/a'],
  // What other routers read in another way would match nothing here, and its goods would be free.
  ['/a*', '/:a*', '/:a+', '/**', '/*a', '/:a(.+)', '/:a?', '/{:a}', '/[a]', '/{a}', '/:a{.+}', '/:a|b'],
  ['/a?b=1', '/a#b', '/a/../b', '/./a', '/%2e%2E/a', '/a\\b'],
  ['ALL /a', 'GTE /a', 'HEAD /a', 'CONNECT /a', 'GET,POST /a', 'GET|POST /a', '* /a'],
].flat()

for (const pattern of wrongPatterns) {
  test(`The pattern "${pattern}", which could match nothing, is refused at the start [decision.99]`, () => {
    const told = /^A route (is written|names a method).*, not ".*"$/
    assert.throws(
      () => compileRoutes({ [pattern]: 1 }),
      (error) => error instanceof TypeError && told.test(error.message),
    )
  })
}

const hiddenRoutes: readonly [early: string, late: string, isHidden: boolean][] = [
  ['GET /reports/:id', 'GET /reports/free', true],
  ['/reports/:id', 'GET /reports/:name', true],
  ['/*', 'GET /data', true],
  ['/data/*', '/data', true],
  ['/data/*', '/data/:id/*', true],
  ['GET /data', 'GET /DATA/', true],
  ['GET /reports/free', 'GET /reports/:id', false],
  ['GET /data', '/data', false],
  ['GET /data', 'POST /data', false],
  ['/data/:id', '/data/*', false],
  ['/data/:id/*', '/data/*', false],
  ['/data', '/data/*', false],
  ['/:id', '/', false],
]

for (const [early, late, isHidden] of hiddenRoutes) {
  test(`Behind "${early}", "${late}" is ${isHidden ? 'never' : 'sometimes'} reached [decision.99]`, () => {
    const compile = () => compileRoutes({ [early]: 1, [late]: 2 })
    if (!isHidden) return assert.doesNotThrow(compile)
    const message = `The route "${late}" is never reached behind "${early}", which takes all of its requests: put it first, or leave it out`
    return assert.throws(compile, new TypeError(message))
  })
}

test('Letters of every script, encoded ones, and colons and dots within a segment are no mistake [decision.99]', () => {
  const requests = {
    '/données': '/donn%C3%A9es',
    '/a%5Bb%5D': '/a[b]',
    '/v1/things:batch': '/v1/things:batch',
    '/a.b/...': '/a.b/...',
    '/(a)': '/(a)',
    '/a+b;c,d=e': '/a+b;c,d=e',
    '/x/y/*': '/x/y/z/a',
    '/': '/',
    '/:from-:to': '/a-b',
  }
  const find = compileRoutes(Object.fromEntries(Object.keys(requests).map((path) => [`GET ${path}`, path])))
  for (const [path, target] of Object.entries(requests)) assert.equal(find('GET', target), path)
})

const folder = mkdtempSync(join(tmpdir(), 'purser-test-'))
for (const [name, text] of Object.entries({ free: 'free', data: 'goods' })) {
  writeFileSync(join(folder, name), text)
}
after(() => rmSync(folder, { recursive: true, force: true }))

/** A free and a paid route behind a table, with the most tolerant router that the framework has. */
const tolerantRouters: Readonly<Record<string, (options: PaymentOptions) => Promise<Server>>> = {
  'node:http': (options) =>
    Promise.resolve(
      createServer(
        forNode(options, ({ url = '/' }, response) => {
          const { pathname } = new URL(`http://localhost${url}`)
          response.end(pathname === '/data' ? 'goods' : 'free')
        }),
      ),
    ),
  'Express 5, files': (options) => {
    const app = express().use(forExpress(options)).use(express.static(folder))
    return Promise.resolve(createServer(app as Parameters<typeof createServer>[1] & object))
  },
  'Express 5': (options) => {
    const app = express().use(forExpress(options))
    app.get('/free', (_, response) => void response.send('free'))
    app.get('/data', (_, response) => void response.send('goods'))
    return Promise.resolve(createServer(app as Parameters<typeof createServer>[1] & object))
  },
  'Fastify 5': async (options) => {
    const app = fastify({
      useSemicolonDelimiter: true,
      routerOptions: {
        caseSensitive: false,
        ignoreDuplicateSlashes: true,
        ignoreTrailingSlash: true,
      },
    })
    app.addHook('preHandler', forFastify(options))
    app.get('/free', () => 'free')
    app.get('/data', () => 'goods')
    await app.ready()
    return app.server
  },
  Hono: (options) => {
    const app = new Hono({ strict: false }).use(forHono(options))
    app.get('/free', (context) => context.text('free'))
    app.get('/data', (context) => context.text('goods'))
    return Promise.resolve(createAdaptorServer({ fetch: app.fetch, createServer }) as Server)
  },
}

const spellings = [
  '/data',
  '/data/',
  '//data',
  '/data//',
  '/DATA',
  '/Data/?x=1',
  '/data;x',
  '/data;/x',
  '/d%61ta',
  '/%64%61%74%61',
  '/data%2F',
  '/./data',
  '/x/../data',
  '/x/%2e%2e/data',
  '/x%2f..%2fdata',
  '/x//../data',
  '/x//../../data',
  '/data/x/..',
  '/x\\..\\data',
  '/\\data',
  '/data#x',
  '/data%00',
  '/data%',
  'http://other.example/data',
]

describe('No spelling of a paid path gets its goods for nothing [decision.99]', () => {
  for (const [name, open] of Object.entries(tolerantRouters)) {
    test(name, async (context) => {
      const client = new Purser({ apiKey: 'svc_sand_none', baseUrl: 'http://127.0.0.1:1' })
      const routes = { 'GET /data': { price: '4.00' } }
      const server = await listen(await open({ client, merchantDomain: 'api.example.com', routes }))
      context.after(server.close)
      assert.equal((await getAsItIs(server.url, '/data')).status, 402)
      assert.equal((await getAsItIs(server.url, '/free')).status, 200)
      for (const target of spellings) {
        const { text } = await getAsItIs(server.url, target)
        assert.notEqual(text, 'goods', target)
      }
    })
  }
})

/** Sends a target without making it tidy first, as fetch would. */
function getAsItIs(url: string, path: string): Promise<{ status: number; text: string }> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    sendRequest({ hostname, port, path, agent: false }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
    })
      .on('error', reject)
      .end()
  })
}

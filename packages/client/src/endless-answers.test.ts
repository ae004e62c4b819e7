import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { createServer, type AddressInfo } from 'node:net'
import { test } from 'node:test'
import { createGzip } from 'node:zlib'

import { shareTestService } from '../../../service/testing/shared-service.ts'
import { openMarket } from '../testing/market.ts'
import { drip, flood } from '../testing/endless.ts'
import { startServer } from '../testing/scripted-server.ts'
import { ConnectionError, paymentDecisionOf, Purser, TimeoutError } from './client.ts'
import { peekJson } from './payment/peek-json.ts'

const service = await shareTestService()

const json = { 'content-type': 'application/json' }
const clientFor = (baseUrl: string, timeout = 10_000) =>
  new Purser({ apiKey: 'svc_sand_none', baseUrl, timeout, maxRetries: 0 })

test('An endless response is read up to 8 MiB, whatever its status, then aborted', async (context) => {
  for (const status of [200, 404, 500]) {
    const { promise: sent, resolve } = Promise.withResolvers<number>()
    const url = await startServer(context, (_request, response) => {
      response.writeHead(status, json)
      void flood(response).then(resolve)
    })
    await assert.rejects(clientFor(url).agents.get('agent_1'), (error) => {
      assert.ok(error instanceof ConnectionError)
      assert.match(error.message, /was not answered: the response has more than 8388608 bytes/)
      return true
    })
    assert.ok((await sent) < 64 * 1024 * 1024)
  }
})

test('A short compressed response that decompresses endlessly is aborted as well', async (context) => {
  const url = await startServer(context, (_request, response) => {
    response.writeHead(200, { ...json, 'content-encoding': 'gzip' })
    const gzip = createGzip()
    gzip.pipe(response)
    void flood(gzip as unknown as ServerResponse)
  })
  await assert.rejects(clientFor(url).agents.get('agent_1'), /more than 8388608 bytes/)
})

test('A slow response ends at the timeout, also for an error response to a stream', async (context) => {
  for (const status of [200, 500]) {
    const url = await startServer(context, (_request, response) => {
      response.writeHead(status, json)
      drip(response)
    })
    await assert.rejects(clientFor(url, 200).agents.get('agent_1'), TimeoutError)
    if (status === 500) await assert.rejects(clientFor(url, 200).console.feed().next(), TimeoutError)
  }
})

test('Endless headers are a ConnectionError', async (context) => {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.write('HTTP/1.1 200 OK\r\n')
    const go = () => {
      while (!socket.destroyed && socket.write(`x-${'y'.repeat(1000)}: z\r\n`));
      if (!socket.destroyed) socket.once('drain', go)
    }
    go()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  context.after(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  await assert.rejects(clientFor(url).agents.get('agent_1'), (error) => {
    assert.ok(error instanceof ConnectionError && !(error instanceof TimeoutError), String(error))
    return true
  })
})

test('An endless event ends the feed with an error', async (context) => {
  const url = await startServer(context, (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: ')
    void flood(response)
  })
  await assert.rejects(clientFor(url).console.feed().next(), (error) => {
    assert.ok(error instanceof ConnectionError)
    assert.match(error.message, /an event has more than/)
    return true
  })
})

test('A 402 with an endless body is returned unpaid, and can still be read', async (context) => {
  const { pay, decisions, budget } = await openMarket(context, service)
  const url = await startServer(context, (_request, response) => {
    response.writeHead(402, json)
    void flood(response)
  })
  const answer = await pay()(url)
  assert.equal(answer.status, 402)
  const decision = paymentDecisionOf(answer)
  assert.deepEqual([decision?.outcome, decisions.length], ['skipped', 1])
  assert.ok(decision?.outcome === 'skipped' && decision.why === 'no_challenge')
  await answer.body?.cancel()
  assert.deepEqual(await budget(), { spent: '0.00', held: '0.00' })
})

test('The wait for a slow challenge is bounded', async (context) => {
  const url = await startServer(context, (_request, response) => {
    response.writeHead(402, json)
    drip(response)
  })
  const answer = await fetch(url)
  assert.equal(await peekJson(answer, 100), undefined)
  await answer.body?.cancel()
})

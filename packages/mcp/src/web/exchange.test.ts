import assert from 'node:assert/strict'
import { test } from 'node:test'

import { drip, flood } from '../../../client/testing/endless.ts'
import { startServer } from '../../../client/testing/scripted-server.ts'
import { AddressGuard } from './addresses.ts'
import { exchange } from './exchange.ts'

const guard = new AddressGuard(['127.0.0.1'])
const request = {
  method: 'GET',
  headers: {},
  maxBytes: 100_000,
  signal: new AbortController().signal,
} as const

test('An endless body is read up to the limit, then the connection is closed', async (context) => {
  const sent = Promise.withResolvers<number>()
  const url = new URL(
    await startServer(context, (_request, response) => void flood(response).then(sent.resolve)),
  )
  const answer = await exchange(guard, { ...request, url })
  assert.deepEqual([answer.bytes.length, answer.isTruncated], [100_000, true])
  assert.ok((await sent.promise) < 32 * 1024 * 1024)
})

test('Headers of more than 32 KiB and a slow body end the exchange', async (context) => {
  const url = new URL(
    await startServer(context, (asked, response) => {
      if (asked.url === '/drip') drip(response)
      else response.writeHead(200, { 'x-long': 'y'.repeat(64 * 1024) }).end()
    }),
  )
  await assert.rejects(exchange(guard, { ...request, url }), { code: 'HPE_HEADER_OVERFLOW' })
  const dripping = exchange(guard, { ...request, url: new URL('/drip', url), timeoutMs: 200 })
  await assert.rejects(dripping, { message: 'aborted' })
})

test('A merchant that switches protocols ends the exchange', { timeout: 10_000 }, async (context) => {
  const url = new URL(
    await startServer(context, (_request, response) => {
      response.writeHead(101, { connection: 'upgrade', upgrade: 'other' }).end()
    }),
  )
  await assert.rejects(exchange(guard, { ...request, url }), /without a response/)
})

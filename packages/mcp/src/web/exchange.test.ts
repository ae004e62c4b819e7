import assert from 'node:assert/strict'
import { test } from 'node:test'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'

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

const encodings = { gzip: gzipSync, 'X-GZIP': gzipSync, deflate: deflateSync, br: brotliCompressSync }
for (const [encoding, compress] of Object.entries(encodings)) {
  test(`A body that is compressed (${encoding}) although that was not accepted is read, up to the limit`, async (context) => {
    const url = new URL(
      await startServer(context, ({ url: path }, response) => {
        response.writeHead(200, { 'content-encoding': encoding })
        if (path === '/empty') response.end()
        else if (path === '/broken') response.end('goods')
        else response.end(compress(path === '/bomb' ? Buffer.alloc(2_000_000) : 'goods'))
      }),
    )
    const read = async (path: string) => {
      const { bytes, isTruncated } = await exchange(guard, { ...request, url: new URL(path, url) })
      return { bytes, isTruncated }
    }
    assert.deepEqual(await read('/'), { bytes: Buffer.from('goods'), isTruncated: false })
    assert.deepEqual(await read('/empty'), { bytes: Buffer.alloc(0), isTruncated: false })
    assert.deepEqual(await read('/bomb'), { bytes: Buffer.alloc(100_000), isTruncated: true })
    await assert.rejects(read('/broken'), { name: 'Error' })
  })
}

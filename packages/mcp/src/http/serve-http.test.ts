import assert from 'node:assert/strict'
import { request } from 'node:http'
import { after, before, test } from 'node:test'

import { createMcpServer } from '../mcp-server.ts'
import { openWallet } from '../wallet.ts'
import { serveHttp, type RunningHttp } from './serve-http.ts'

let running: RunningHttp
const lines: string[] = []

before(async () => {
  const wallet = openWallet({ apiKey: 'svc_sand_unused', url: 'http://127.0.0.1:9' })
  running = await serveHttp(() => createMcpServer(wallet), { port: 0, log: (line) => lines.push(line) })
})
after(() => running.close())

const listTools = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} })

interface Changes {
  readonly method?: string
  readonly path?: string
  readonly headers?: Record<string, string | undefined>
  readonly body?: string
}

/** The response to a valid request with these changes. */
async function ask({ method = 'POST', path = '/mcp', headers = {}, body = listTools }: Changes = {}) {
  const all: Record<string, string | undefined> = {
    authorization: `Bearer ${running.token}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...headers,
  }
  const given = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
  return new Promise<{ status: number | undefined; text: string; challenge: string | undefined }>(
    (resolve, reject) => {
      const sent = request(new URL(path, running.url), { method, headers: given, agent: false }, (answer) => {
        let text = ''
        answer.on('data', (chunk) => (text += String(chunk)))
        answer.on('end', () =>
          resolve({ status: answer.statusCode, text, challenge: answer.headers['www-authenticate'] }),
        )
      })
      sent.on('error', reject)
      sent.end(method === 'POST' ? body : undefined)
    },
  )
}

test('A caller with the token is served', async () => {
  const { status, text } = await ask()
  assert.equal(status, 200)
  assert.match(text, /fetch_paid_resource/)
})

test('Callers without the exact token are refused', async () => {
  for (const authorization of [
    undefined,
    'Bearer',
    'Bearer wrong',
    `Basic ${running.token}`,
    `Bearer ${running.token}x`,
  ]) {
    const { status, challenge } = await ask({ headers: { authorization } })
    assert.deepEqual([status, challenge], [401, 'Bearer'], authorization)
  }
})

test('A web page is refused, even with the token', async () => {
  for (const origin of ['https://evil.example', 'null', 'http://localhost.evil.example']) {
    assert.equal((await ask({ headers: { origin } })).status, 403, origin)
  }
  assert.equal((await ask({ headers: { origin: 'http://localhost:3000' } })).status, 200)
})

test('Another host name that resolves to this machine is refused', async () => {
  for (const host of ['evil.example', `evil.example:${new URL(running.url).port}`, '169.254.169.254']) {
    assert.equal((await ask({ headers: { host } })).status, 403, host)
  }
})

test('It listens on this machine only', () => {
  assert.match(running.url, /^http:\/\/127\.0\.0\.1:\d+\/mcp$/)
  assert.ok(running.token.length >= 43)
})

test('A large body, another path and a body that is not JSON are refused', async () => {
  assert.equal((await ask({ body: `{"x":"${'x'.repeat(300_000)}"}` })).status, 413)
  assert.equal((await ask({ path: '/other' })).status, 404)
  assert.equal((await ask({ headers: { 'content-type': 'text/plain' } })).status, 415)
  assert.equal((await ask({ body: '{' })).status, 400)
})

test('There are no sessions', async () => {
  assert.equal((await ask({ method: 'GET' })).status, 405)
  assert.equal((await ask({ method: 'DELETE' })).status, 405)
})

test('The log never contains the token', () => {
  for (const line of lines) assert.ok(!line.includes(running.token))
})

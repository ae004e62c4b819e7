import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, METHODS } from 'node:http'
import { connect } from 'node:net'
import { test } from 'node:test'

import { endpoints } from '@purser/wire/openapi'

import { QueryTooSlowError, StoreUnavailableError } from '../store/store.ts'
import { startAppOverStore } from '../../testing/app-over-store.ts'
import { sendBytes, sendPlain, type PlainAnswer } from '../../testing/http/plain-http.ts'
import { issueProof, merchantDomain, preparePurchase } from '../../testing/service.ts'
import { shareTestService } from '../../testing/shared-service.ts'

const maxBody = 64 * 1024

test('An unknown path is 404 Not Found, with and without a key', async () => {
  const service = await shareTestService()
  const paths = [
    '/',
    '/unknown',
    '/Agents',
    '//agents',
    '/agents/a/b',
    '/v1',
    '/v1/agents',
    '/payments/verify',
    '/agents/../agents',
    '/healthz/',
    '/.env',
    '/*',
  ]
  for (const path of paths) {
    for (const method of ['GET', 'POST', 'DELETE']) {
      for (const headers of [{}, { authorization: `Bearer ${service.sandboxKey}` }]) {
        const answer = await sendPlain(service.url, { method, path, headers })
        assertRefusal(answer, 404, 'Not Found', `${method} ${path}`)
      }
    }
  }
})

test('An unsupported method is 405 with Allow, on every path', async (t) => {
  const service = await shareTestService()
  const agent = new Agent({ keepAlive: true, maxSockets: 8 })
  t.after(() => agent.destroy())
  const beside = ['/openapi.json', '/docs'].map((path) => ({ method: 'GET', path, roles: 'public' }))
  const served = [...endpoints, ...beside]
  for (const [path, known] of Map.groupBy(served, ({ path }) => path)) {
    // Public pages support GET and HEAD.
    const allowed = known
      .flatMap(({ method, roles }) => (method === 'GET' && roles === 'public' ? ['GET', 'HEAD'] : [method]))
      .sort()
    // CONNECT is for proxies: servers close the connection.
    const others = METHODS.filter((method) => method !== 'CONNECT' && !allowed.includes(method))
    const answers = await Promise.all(
      others.map((method) =>
        sendPlain(service.url, { method, path: path.replaceAll(/\{\w+\}/g, 'x'), agent }),
      ),
    )
    for (const [index, answer] of answers.entries()) {
      const title = `${others[index]} ${path}`
      assert.equal(answer.status, 405, title)
      assert.equal(answer.headers.allow, allowed.join(', '), title)
      // The response to HEAD has no body.
      assert.equal(answer.text, others[index] === 'HEAD' ? '' : '{"detail":"Method Not Allowed"}', title)
    }
  }
})

test('A body of 64 KiB is read, and one more byte is 413', async () => {
  const service = await shareTestService()
  for (const headers of [{}, { 'transfer-encoding': 'chunked' }]) {
    const post = (size: number) =>
      sendPlain(service.url, {
        method: 'POST',
        path: '/agents',
        headers: {
          ...headers,
          authorization: `Bearer ${service.sandboxKey}`,
          'content-type': 'application/json',
        },
        body: bodyOf(size),
      })
    assert.equal((await post(maxBody)).status, 201)
    assertRefusal(await post(maxBody + 1), 413, 'payload_too_large')
  }
  const list = await service.call('GET', '/agents')
  assert.equal(list.body.length, 2, 'no agent was created from the larger ones')
})

test('A body far over 64 KiB also gets a 413, and the service keeps running', async () => {
  const service = await shareTestService()
  for (let round = 0; round < 10; round++) {
    const answer = await sendPlain(service.url, {
      method: 'POST',
      path: '/agents',
      headers: { authorization: `Bearer ${service.sandboxKey}`, 'content-type': 'application/json' },
      body: Buffer.alloc(4 * 1024 * 1024, 'x'),
    })
    assertRefusal(answer, 413, 'payload_too_large')
  }
  assert.equal((await service.call('GET', '/agents')).status, 200)
})

const malformed: [title: string, bytes: string, status: number, detail: string][] = [
  ['no HTTP', 'hello\r\n\r\n', 400, 'bad_request'],
  ['a TLS hello', '\x16\x03\x01\x02\x00\x01\x00', 400, 'bad_request'],
  ['an unknown method', 'FETCH /agents HTTP/1.1\r\nHost: x\r\n\r\n', 400, 'bad_request'],
  ['a space in the path', 'GET /a b HTTP/1.1\r\nHost: x\r\n\r\n', 400, 'bad_request'],
  ['no host', 'GET /agents HTTP/1.1\r\n\r\n', 400, 'bad_request'],
  ['a header without a colon', 'GET /agents HTTP/1.1\r\nHost: x\r\nnonsense\r\n\r\n', 400, 'bad_request'],
  ['a NUL in a header', 'GET /agents HTTP/1.1\r\nHost: x\r\nX: a\0b\r\n\r\n', 400, 'bad_request'],
  ['an invalid length', 'POST /agents HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n', 400, 'bad_request'],
  [
    'two lengths',
    'POST /agents HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}',
    400,
    'bad_request',
  ],
  [
    'a length and chunks',
    'POST /agents HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    400,
    'bad_request',
  ],
  [
    'headers over 16 KiB',
    `GET /agents HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`,
    431,
    'header_too_large',
  ],
  [
    'a path over 16 KiB',
    `GET /agents/${'x'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`,
    431,
    'header_too_large',
  ],
]

test('Bytes that are not an HTTP request get an error response, and the connection is closed', async () => {
  const service = await shareTestService()
  for (const [title, bytes, status, detail] of malformed) {
    const said = await sendBytes(service.url, Buffer.from(bytes, 'latin1'))
    const [head = '', body] = said.split('\r\n\r\n')
    assert.match(head, new RegExp(`^HTTP/1.1 ${status} `), title)
    assert.match(head, /content-type: application\/json/i, title)
    assert.match(head, /connection: close/i, title)
    assert.equal(body, JSON.stringify({ detail }), title)
    assert.equal(Number(/content-length: (\d+)/i.exec(head)?.[1]), body?.length, title)
  }
  assert.equal((await service.call('GET', '/agents')).status, 200, 'the service keeps running')
})

test('Bytes that are not HTTP do not answer the request before them: a payment that was made is reported as such', async () => {
  const service = await shareTestService()
  const purchase = await preparePurchase(service)
  for (const [title, excess] of Object.entries({ garbage: 'garbage\r\n\r\n', 'a wrong length': ' ' })) {
    const proof = await issueProof(service, purchase)
    const body = JSON.stringify({ proof, merchant_domain: merchantDomain, expected_amount: proof.amount })
    const head =
      'POST /v1/payments/verify HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n' +
      `Authorization: Bearer ${service.sandboxKey}\r\nContent-Length: ${body.length}\r\n\r\n`
    const said = await sendBytes(service.url, head + body + excess)
    const { body: record } = await service.call('GET', `/v1/payments/proofs/${proof.nonce}`)
    assert.equal(record.status, 'captured', title)
    const [, status, answer] = /^HTTP\/1.1 (\d+) .*\r\n\r\n(.*)$/s.exec(said) ?? []
    assert.equal(answer, JSON.stringify({ verified: true, transaction_id: record.transaction_id }), title)
    assert.equal(status, '200', title)
  }
})

test('Bytes that are not HTTP end a response that never ends by itself', async () => {
  const service = await shareTestService()
  const feed = `GET /v1/console/feed HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.sandboxKey}\r\n\r\n`
  const { hostname, port } = new URL(service.url)
  const socket = connect(Number(port), hostname, () => socket.write(feed))
  const [begun] = (await once(socket, 'data')) as [Buffer]
  assert.match(begun.toString(), /^HTTP\/1.1 200 /)
  const ended = once(socket.resume(), 'close')
  socket.write('garbage\r\n\r\n')
  await ended
})

const encodings = ['%', '%Z', '%ZZ', '%C3%28', '%ED%A0%80', '%FF', '%E0%80%AF', 'a%2', '%u0041']

test('An invalid percent-encoding is 404 in a path, and not a server error in a query', async () => {
  const service = await shareTestService()
  const headers = { authorization: `Bearer ${service.sandboxKey}` }
  for (const encoding of encodings) {
    for (const path of [`/agents/${encoding}`, `/${encoding}`]) {
      const answer = await sendPlain(service.url, { method: 'GET', path, headers })
      assertRefusal(answer, 404, 'Not Found', path)
    }
    const path = `/agents?limit=${encoding}&${encoding}=${encoding}`
    const answer = await sendPlain(service.url, { method: 'GET', path, headers })
    assert.equal(answer.status, 422, path)
    const unknown = await sendPlain(service.url, { method: 'GET', path: `/agents?x=${encoding}`, headers })
    assert.equal(unknown.status, 422, 'unknown parameters are refused')
  }
})

test('An id of any text and length simply does not exist [fields.ids]', async () => {
  const service = await shareTestService()
  const headers = { authorization: `Bearer ${service.sandboxKey}` }
  for (const id of [
    '',
    '%00',
    '%20',
    '%2F',
    '..%2F..',
    '%F0%9F%92%B8',
    '__proto__',
    'x'.repeat(4_096),
    'x'.repeat(9_000),
  ]) {
    const answer = await sendPlain(service.url, { method: 'GET', path: `/agents/${id}`, headers })
    assertRefusal(answer, 404, 'not_found', id.slice(0, 20))
  }
})

test('A mistyped key is refused even if no key can be looked up', async (t) => {
  const { url, sandboxKey } = await startAppOverStore(t, {
    authenticate: () => Promise.reject(new StoreUnavailableError('no store', { retryAfterSeconds: 1 })),
  })
  const ask = (key: string) =>
    sendPlain(url, { method: 'GET', path: '/agents', headers: { authorization: `Bearer ${key}` } })
  const mistyped = sandboxKey.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a'))
  assertRefusal(await ask(mistyped), 401, 'invalid_api_key', 'a wrong character')
  assertRefusal(await ask(sandboxKey.slice(0, -1)), 401, 'invalid_api_key', 'a character short')
  assertRefusal(await ask(sandboxKey), 503, 'store_unavailable', 'the key itself')
})

test('When the store fails, every endpoint with a key is 503 store_unavailable with Retry-After', async (t) => {
  const { url, store, sandboxKey } = await startAppOverStore(t)
  await store.close()
  for (const { method, path, roles } of endpoints) {
    if (roles === 'public') continue
    const answer = await sendPlain(url, {
      method,
      path: path.replaceAll(/\{\w+\}/g, 'x'),
      headers: { authorization: `Bearer ${sandboxKey}` },
    })
    assertRefusal(answer, 503, 'store_unavailable', `${method} ${path}`)
    assert.match(answer.headers['retry-after'] ?? '', /^[1-9][0-9]*$/)
  }
  const keyless = await sendPlain(url, { method: 'GET', path: '/agents' })
  assert.equal(keyless.status, 401, 'endpoints that need no store still answer')
})

test('A store that fails after authentication is 503 too, and claims nothing', async (t) => {
  const broken = await startAppOverStore(t)
  const { url, store, sandboxKey } = await startAppOverStore(t, {
    authenticate: (hash) => store.authenticate(hash),
    // The write goes to a closed store.
    createAgent: (...args) => broken.store.createAgent(...args),
    listAgents: (...args) => broken.store.listAgents(...args),
  })
  await broken.store.close()
  const headers = { authorization: `Bearer ${sandboxKey}`, 'content-type': 'application/json' }
  const write = await sendPlain(url, { method: 'POST', path: '/agents', headers, body: '{"name":"a"}' })
  assertRefusal(write, 503, 'store_unavailable')
  assert.match(write.headers['retry-after'] ?? '', /^[1-9][0-9]*$/)
  assertRefusal(await sendPlain(url, { method: 'GET', path: '/agents', headers }), 503, 'store_unavailable')
})

test('A bug is 500 internal_error: the log has the stack trace, the response does not', async (t) => {
  const { url, log, sandboxKey } = await startAppOverStore(t, {
    listAgents: () => Promise.reject(new TypeError('a secret detail')),
    findAgent: () => {
      throw new RangeError('a secret detail')
    },
  })
  const headers = { authorization: `Bearer ${sandboxKey}` }
  for (const path of ['/agents', '/agents/x']) {
    const answer = await sendPlain(url, { method: 'GET', path, headers })
    assertRefusal(answer, 500, 'internal_error', path)
    assert.ok(!JSON.stringify(answer).includes('secret'))
    const line = log.find((one) => one.includes(`"reqId":"${answer.headers['x-request-id']?.toString()}"`))
    assert.match(line ?? '', /a secret detail/, 'the id in the response finds the log line')
  }
  const logged = log.join('')
  assert.match(logged, /a secret detail/)
  assert.match(logged, /failures\.test\.ts/, 'the stack trace is logged')
  assert.ok(!logged.includes(sandboxKey), 'the key is not logged')
})

/** An agent as JSON, padded to this many bytes. */
function bodyOf(size: number): string {
  const frame = JSON.stringify({ name: 'large', padding: '' })
  return JSON.stringify({ name: 'large', padding: 'x'.repeat(size - frame.length) })
}

function assertRefusal(
  { status, headers, text }: PlainAnswer,
  expected: number,
  detail: string,
  title = '',
): void {
  assert.deepEqual([status, text], [expected, JSON.stringify({ detail })], title)
  assert.equal(headers['content-type'], 'application/json; charset=utf-8', title)
}

test('A console query that takes too long is 503 query_too_slow, and other requests are answered', async (t) => {
  const { url, sandboxKey: key } = await startAppOverStore(t, {
    readBudgets: () => Promise.reject(new QueryTooSlowError('the query took too long')),
  })
  const headers = { authorization: `Bearer ${key}` }
  const slow = await sendPlain(url, { method: 'GET', path: '/v1/console/overview', headers })
  assert.deepEqual([slow.status, slow.body], [503, { detail: 'query_too_slow' }])
  assert.equal(slow.headers['retry-after'], '2')
  assert.equal((await sendPlain(url, { method: 'GET', path: '/agents', headers })).status, 200)
})

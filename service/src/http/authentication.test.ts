import assert from 'node:assert/strict'
import { request as openRequest } from 'node:http'
import { test } from 'node:test'

import { endpoints } from '@purser/wire/openapi'

import { hashApiKey } from '../domain/api-key.ts'
import { startAppOverStore } from '../../testing/app-over-store.ts'
import { sendPlain, type PlainAnswer } from '../../testing/http/plain-http.ts'
import { issueKey, type TestService, startTestService } from '../../testing/service.ts'
import { shareTestService } from '../../testing/shared-service.ts'
import { createAuthentication } from './authentication.ts'

const withKey = endpoints.filter(({ roles }) => roles !== 'public')

test('Every endpoint uses bearer authentication: without credentials it is 401 Not authenticated [auth.1]', async () => {
  const service = await shareTestService()
  assert.ok(withKey.length > 20)
  for (const { method, path } of withKey) {
    const answer = await sendPlain(service.url, { method, path: fill(path) })
    assertNotAuthenticated(answer, `${method} ${path}`)
  }
})

test('Every endpoint refuses a key that is unknown, mistyped or revoked: 401 invalid_api_key [auth.1] [auth.4]', async (t) => {
  const service = await startTestService(t)
  const revoked = await issueKey(service, { role: 'owner' })
  const { body: keys } = await service.call('GET', '/accounts/api-keys', { key: revoked })
  await service.call('DELETE', `/accounts/api-keys/${keys[0].id}`)
  const other = await startTestService(t)
  const refused = {
    revoked,
    'of another store': other.sandboxKey,
    'with a wrong character': service.sandboxKey.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a')),
    'of the other prefix': service.sandboxKey.replace('svc_sand_', 'svc_prod_'),
    'too short': service.sandboxKey.slice(0, -1),
    'too long': `${service.sandboxKey}a`,
    'without a prefix': service.sandboxKey.slice('svc_sand_'.length),
    'only a prefix': 'svc_sand_',
    'in capitals': service.sandboxKey.toUpperCase(),
    'an id': keys[0].id as string,
    'a wildcard': '*',
  }
  for (const [title, key] of Object.entries(refused)) {
    for (const { method, path } of title === 'revoked' ? withKey : withKey.slice(0, 3)) {
      const answer = await sendPlain(service.url, {
        method,
        path: fill(path),
        headers: { authorization: `Bearer ${key}` },
      })
      assertInvalidKey(answer, `${title}: ${method} ${path}`)
    }
  }
})

const noCredentials = [
  'Basic YTpi',
  'Digest x',
  'Bearer',
  'Bearer ',
  'Bearer    ',
  '',
  'svc_sand_x',
  'Bearerx y',
]

test('Another scheme, or a scheme without a token, does not count as credentials [auth.1]', async () => {
  const service = await shareTestService()
  for (const authorization of [...noCredentials, service.sandboxKey, `Token ${service.sandboxKey}`]) {
    const answer = await get(service, { authorization })
    assertNotAuthenticated(answer, authorization)
  }
})

test('The name of the scheme is case-insensitive, the key is not', async () => {
  const service = await shareTestService()
  for (const scheme of ['Bearer', 'bearer', 'BEARER', 'bEaReR', 'Bearer   ']) {
    const answer = await get(service, { authorization: `${scheme} ${service.sandboxKey}` })
    assert.equal(answer.status, 200, scheme)
  }
})

test('A key in the query, in a cookie or in another header is ignored [auth.1]', async () => {
  const service = await shareTestService()
  const key = service.sandboxKey
  const answers = [
    await sendPlain(service.url, { method: 'GET', path: `/agents?api_key=${key}&access_token=${key}` }),
    await get(service, { cookie: `authorization=Bearer ${key}` }),
    await get(service, { 'x-api-key': key, 'proxy-authorization': `Bearer ${key}` }),
  ]
  for (const answer of answers) assertNotAuthenticated(answer, answer.text)
})

const unreadable: [title: string, headers: Record<string, string>, body: Buffer | string][] = [
  ['no JSON', { 'content-type': 'application/json' }, '{'],
  ['not UTF-8', { 'content-type': 'application/json' }, Buffer.from([0x22, 0xff, 0x22])],
  ['not declared as JSON', { 'content-type': 'text/plain' }, '{}'],
  ['over 64 KiB', { 'content-type': 'application/json' }, 'x'.repeat(70_000)],
  ['invalid for the schema', { 'content-type': 'application/json' }, '[]'],
]

test('Authentication comes before the body is read: a broken body with a bad key is 401', async () => {
  const service = await shareTestService()
  for (const { method, path, body: schema, roles } of endpoints) {
    if (!schema || roles === 'public') continue
    for (const [title, headers, body] of unreadable) {
      const request = { method, path: fill(path), body }
      assertNotAuthenticated(await sendPlain(service.url, { ...request, headers }), title)
      const authorization = 'Bearer svc_sand_wrong'
      assertInvalidKey(
        await sendPlain(service.url, { ...request, headers: { ...headers, authorization } }),
        title,
      )
    }
  }
})

test('Authentication comes before the query is read', async () => {
  const service = await shareTestService()
  const answer = await sendPlain(service.url, { method: 'GET', path: '/agents?limit=no&cursor=no' })
  assertNotAuthenticated(answer, 'a broken query')
})

test("A key in use stays cached, whatever another tenant's requests look like, and however many keys follow", () => {
  const caller = {
    accountId: 'acct',
    environment: 'sandbox',
    keyId: 'key',
    role: 'owner',
    agentId: null,
  } as const
  const keys = ['honest', 'hostile', ...Array.from({ length: 1_200 }, (_, number) => `key${number}`)]
  const authenticate = createAuthentication({ findCaller: () => caller, chosenKeys: new Set(keys) })
  const use = (authorization: string) => void authenticate(authorization)
  const isKnown = () => 'caller' in authenticate('Bearer honest', { mustBeKnown: true })
  assert.ok(!isKnown())
  use('Bearer honest')
  for (let spaces = 1; spaces <= 1_100; spaces++) use(`bearer${' '.repeat(spaces)}hostile`)
  assert.ok(isKnown())
  for (const [index, key] of keys.slice(2).entries()) {
    use(`Bearer ${key}`)
    if (index % 500 === 0) use('Bearer honest')
  }
  assert.ok(isKnown())
  assert.ok(
    !('caller' in authenticate('Bearer key0', { mustBeKnown: true })),
    'the least recently used one is dropped',
  )
})

test('Responses to a valid key have no WWW-Authenticate header', async () => {
  const service = await shareTestService()
  for (const path of ['/agents', '/agents/unknown', '/agents?limit=0', '/unknown']) {
    const { status, headers } = await service.call('GET', path)
    assert.notEqual(status, 401)
    assert.equal(headers.get('www-authenticate'), null)
  }
})

test('A key stops working at once when it is revoked [auth.4]', async () => {
  const service = await shareTestService()
  const key = await issueKey(service, { role: 'owner' })
  const { body: keys } = await service.call('GET', '/accounts/api-keys', { key })
  for (let round = 0; round < 3; round++)
    assert.equal((await service.call('GET', '/agents', { key })).status, 200)
  await service.call('DELETE', `/accounts/api-keys/${keys[0].id}`)
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => service.call('POST', '/agents', { key, body: { name: 'late' } })),
  )
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([401]))
  assert.deepEqual((await service.call('GET', '/agents')).body, [], 'no agent was created')
})

test('A request whose body arrives after the revocation of its key is refused [auth.4]', async () => {
  const service = await shareTestService()
  const key = await issueKey(service, { role: 'owner' })
  const { body: keys } = await service.call('GET', '/accounts/api-keys', { key })
  const body = JSON.stringify({ role: 'owner', environment: 'sandbox' })
  const late = await sendInTwo(service, { key, body }, async () => {
    await service.call('DELETE', `/accounts/api-keys/${keys[0].id}`)
    assert.equal((await service.call('GET', '/agents', { key })).status, 401)
  })
  assert.deepEqual(late, { status: 401, text: '{"detail":"invalid_api_key"}' })
  const { body: left } = await service.call('GET', '/accounts/api-keys')
  assert.equal(left.length, keys.length, 'no key was issued')
  const slow = await sendInTwo(service, { key: service.sandboxKey, body }, async () => undefined)
  assert.equal(slow.status, 201, 'a slow body alone is accepted')
})

const reads: Record<string, (answer: PlainAnswer | Error) => void> = {
  '/agents': (answer) => assertInvalidKey(answer as PlainAnswer, 'a list'),
  '/v1/console/feed': (answer) => assert.deepEqual((answer as PlainAnswer).body, { reason: 'signed_out' }),
  '/v1/transactions.csv': (cutOff) => assert.ok(cutOff instanceof Error),
}

for (const [path, assertEnded] of Object.entries(reads)) {
  test(`A read of ${path} that waits for its turn while its key is revoked shows nothing [auth.4]`, async (t) => {
    const turn = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    const looked = Promise.withResolvers<void>()
    let hashOfRevoked: Buffer = Buffer.alloc(0)
    const shown: string[] = []
    const { url, store, sandboxKey } = await startAppOverStore(t, {
      async authenticate(hash) {
        const caller = await store.authenticate(hash)
        if (hash.equals(hashOfRevoked)) looked.resolve()
        return caller
      },
      async listAgents(...args) {
        begun.resolve()
        await turn.promise
        shown.push('agents')
        return store.listAgents(...args)
      },
      newestTransactions(...args) {
        shown.push('newest')
        return store.newestTransactions(...args)
      },
      listConsoleTransactions(...args) {
        shown.push('transactions')
        return store.listConsoleTransactions(...args)
      },
    })
    const ask = (method: string, asked: string, key = sandboxKey, body?: string) =>
      sendPlain(url, {
        method,
        path: asked,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body,
      })
    const newKey = '{"role":"owner","environment":"sandbox"}'
    const { body: issued } = await ask('POST', '/accounts/api-keys', sandboxKey, newKey)
    hashOfRevoked = hashApiKey(issued.key)
    const first = ask('GET', '/agents')
    await begun.promise
    const waiting = ask('GET', path, issued.key).catch((error: Error) => error)
    await looked.promise
    assert.equal((await ask('DELETE', `/accounts/api-keys/${issued.id}`)).status, 200)
    turn.resolve()
    assert.equal((await first).status, 200)
    assertEnded(await waiting)
    assert.deepEqual(shown, ['agents'], 'only for the key that still works')
  })
}

/** Requests a new key, and sends the body only after the service has the headers and `between` is done. */
function sendInTwo(
  service: TestService,
  { key, body }: { readonly key: string; readonly body: string },
  meanwhile: () => Promise<void>,
): Promise<{ status: number | undefined; text: string }> {
  return new Promise((resolve, reject) => {
    const outgoing = openRequest(`${service.url}/accounts/api-keys`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        expect: '100-continue',
      },
    })
    outgoing.on('continue', () => void meanwhile().then(() => outgoing.end(body), reject))
    outgoing.on('response', (incoming) => {
      let text = ''
      incoming.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      incoming.on('end', () => resolve({ status: incoming.statusCode, text }))
    })
    outgoing.on('error', reject)
    outgoing.flushHeaders()
  })
}

function get(service: TestService, headers: Record<string, string>): Promise<PlainAnswer> {
  return sendPlain(service.url, { method: 'GET', path: '/agents', headers })
}

function fill(path: string): string {
  return path.replaceAll(/\{\w+\}/g, 'unknown')
}

function assertNotAuthenticated({ status, headers, text }: PlainAnswer, title: string): void {
  assert.deepEqual(
    [status, text, headers['www-authenticate']],
    [401, '{"detail":"Not authenticated"}', 'Bearer'],
    title,
  )
}

function assertInvalidKey({ status, headers, text }: PlainAnswer, title: string): void {
  assert.deepEqual(
    [status, text, headers['www-authenticate']],
    [401, '{"detail":"invalid_api_key"}', 'Bearer error="invalid_token"'],
    title,
  )
}

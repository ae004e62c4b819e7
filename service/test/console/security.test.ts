import assert from 'node:assert/strict'
import { test } from 'node:test'

import { consoleTokenHeader } from '@purser/wire/console/session'
import { endpoints } from '@purser/wire/openapi'

import { sessionIdleMs, sessionLifeMs, setUpLinkLifeMs } from '../../src/domain/session.ts'
import { browserOf, cookieOf, signIn } from '../../testing/console-session.ts'
import { sendPlain } from '../../testing/http/plain-http.ts'
import { prepareSampleRecords, sampleBodies } from '../../testing/sample-records.ts'
import { lengthenEvaluations } from '../../testing/ledgers/long-records.ts'
import { createTenant, issueKey, startTestService, type TestService } from '../../testing/service.ts'
import { shareTestService } from '../../testing/shared-service.ts'

const changing = endpoints.filter(({ method, roles }) => method !== 'GET' && roles !== 'public')

test('A cookie is only for the browser: scripts cannot read it, other sites cannot send it, and with TLS it is sent only over TLS', async (t) => {
  const service = await shareTestService()
  const body = { api_key: service.sandboxKey }
  const plain = await service.call('POST', '/v1/console/session', { key: null, body })
  assert.match(
    plain.headers.get('set-cookie') ?? '',
    /^purser-session=\S+; Path=\/; Max-Age=86400; HttpOnly; SameSite=Strict$/,
  )
  assert.equal(plain.headers.get('cache-control'), 'no-store')
  assert.ok(!plain.text.includes(service.sandboxKey))
  const headers = { 'x-forwarded-proto': 'https' }
  const behindTls = await service.call('POST', '/v1/console/session', { key: null, body, headers })
  assert.match(
    behindTls.headers.get('set-cookie') ?? '',
    /^__Host-purser-session=.*; SameSite=Strict; Secure$/,
  )
  const secure = await startTestService(t, { PURSER_PUBLIC_URL: 'https://purser.example.com' })
  const named = await secure.call('POST', '/v1/console/session', {
    key: null,
    body: { api_key: secure.sandboxKey },
  })
  assert.match(named.headers.get('set-cookie') ?? '', /^__Host-purser-session=.*; Secure$/)
})

test('Behind a proxy that replaces the host, browsers can sign in at the public URL', async (t) => {
  const headers = { origin: 'https://purser.example.com', 'sec-fetch-site': 'same-origin' }
  const statusOf = async (service: TestService) => {
    const body = { api_key: service.sandboxKey }
    const answer = await service.call('POST', '/v1/console/session', { key: null, body, headers })
    return [answer.status, answer.body.detail]
  }
  assert.deepEqual(await statusOf(await shareTestService()), [403, 'cross_site_request'])
  const named = await startTestService(t, { PURSER_PUBLIC_URL: headers.origin })
  assert.deepEqual(await statusOf(named), [201, undefined])
})

test('Signing in starts a new session, whatever cookie the request has', async () => {
  const service = await shareTestService()
  const first = await signIn(service)
  const planted = `purser-session=${first.cookie.split('=')[1]?.slice(0, 31)}.${'A'.repeat(43)}`
  for (const cookie of [first.cookie, planted]) {
    const body = { api_key: service.sandboxKey }
    const again = await service.call('POST', '/v1/console/session', { key: null, body, headers: { cookie } })
    assert.equal(again.status, 201)
    assert.notEqual(cookieOf(again), cookie)
    assert.notEqual(again.body.csrf_token, first.csrfToken)
  }
  const strange = await service.call('GET', '/agents', { key: null, headers: { cookie: planted } })
  assert.deepEqual([strange.status, strange.body], [401, { detail: 'invalid_session' }])
})

test('Over TLS only the cookie that no other subdomain can set counts', async (t) => {
  const service = await startTestService(t, { PURSER_PUBLIC_URL: 'https://purser.example.com' })
  const { cookie } = await signIn(service)
  const session = (sent: string) =>
    service.call('GET', '/v1/console/session', { key: null, headers: { cookie: sent } })
  assert.equal((await session(cookie)).status, 200)
  const planted = await session(cookie.replace('__Host-', ''))
  assert.deepEqual([planted.status, planted.body], [401, { detail: 'Not authenticated' }])
})

for (const endpoint of changing) {
  const { method, path, body: schema } = endpoint
  test(`${method} ${path} with a cookie changes nothing without the session's token`, async (t) => {
    const { service, browser, other, records } = await shared(t)
    const address = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => records[name as keyof typeof records])
    const sample = sampleBodies[endpoint.id as keyof typeof sampleBodies]
    const body = schema ? sample(records) : undefined
    const before = await auditLog(service)
    const attempts: [title: string, headers: Record<string, string>, detail: string][] = [
      ['no token', {}, 'csrf_token_missing'],
      ['an invalid token', { [consoleTokenHeader]: 'x' }, 'csrf_token_missing'],
      ["another session's token", { [consoleTokenHeader]: other.csrfToken }, 'csrf_token_missing'],
      [
        'another site, with the token',
        { [consoleTokenHeader]: browser.csrfToken, 'sec-fetch-site': 'cross-site' },
        'cross_site_request',
      ],
      [
        'another site of the same domain',
        { [consoleTokenHeader]: browser.csrfToken, 'sec-fetch-site': 'same-site' },
        'cross_site_request',
      ],
      [
        "another site's origin",
        { [consoleTokenHeader]: browser.csrfToken, origin: 'https://evil.example.com' },
        'cross_site_request',
      ],
      ['no origin', { [consoleTokenHeader]: browser.csrfToken, origin: 'null' }, 'cross_site_request'],
    ]
    for (const [title, headers, detail] of attempts) {
      const answer = await browser.call(method, address, { body, headers, withToken: false })
      assert.deepEqual([answer.status, answer.body], [403, { detail }], title)
    }
    assert.deepEqual(await auditLog(service), before, 'no event: nothing changed')
  })
}

const reading = endpoints.filter(
  ({ method, roles }) => method === 'GET' && roles !== 'public' && roles.includes('owner'),
)

test('A page of another site, or of another port of this host, cannot read with the cookie', async (t) => {
  const { service, browser, records } = await shared(t)
  for (const { path } of reading) {
    const address = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => records[name as keyof typeof records])
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { origin: 'https://evil.example.com' },
      { origin: service.url.replace(/:\d+$/, ':1') },
    ]) {
      const answer = await browser.call('GET', address, { headers })
      assert.deepEqual([answer.status, answer.body], [403, { detail: 'cross_site_request' }], path)
    }
  }
  assert.ok(reading.length > 20)
})

test('A page of another session cannot read with the cookie: it would show the figures of another account', async (t) => {
  const { browser, other, records } = await shared(t)
  for (const { path } of reading) {
    const address = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => records[name as keyof typeof records])
    const answer = await browser.call('GET', address, { headers: { [consoleTokenHeader]: other.csrfToken } })
    assert.deepEqual([answer.status, answer.body], [403, { detail: 'csrf_token_missing' }], path)
  }
})

test('With its token, and from its own pages, a session does what its key may do', async () => {
  const service = await shareTestService()
  const browser = await signIn(service)
  const headers = { origin: service.url, 'sec-fetch-site': 'same-origin' }
  const made = await browser.call('POST', '/agents', { body: { name: 'by-cookie' }, headers })
  assert.equal(made.status, 201, made.text)
  const events = (await browser.call('GET', '/v1/audit-log?type=agent.created')).body
  const session = (await browser.call('GET', '/v1/console/session')).body
  assert.equal(events[0].actor, session.key_id, 'the key is the actor')
})

test('A stolen cookie is useless after sign-out', async () => {
  const service = await shareTestService()
  const browser = await signIn(service)
  const bystander = await signIn(service)
  assert.equal((await browser.call('GET', '/agents')).status, 200)
  const out = await browser.call('DELETE', '/v1/console/session')
  assert.deepEqual([out.status, out.body], [200, { ended: true }])
  assert.match(out.headers.get('set-cookie') ?? '', /^purser-session=; Path=\/; Max-Age=0;/)
  for (const [method, path] of [
    ['GET', '/agents'],
    ['GET', '/v1/console/session'],
    ['POST', '/v1/console/stop'],
  ] as const) {
    const answer = await browser.call(method, path)
    assert.deepEqual([answer.status, answer.body], [401, { detail: 'invalid_session' }], path)
  }
  assert.equal((await bystander.call('GET', '/agents')).status, 200)
})

test('A session ends at once with its key, when it is unused for too long, and always after a day', async () => {
  const service = await shareTestService()
  const key = await issueKey(service, { role: 'owner' })
  const ofKey = await signIn(service, key)
  const { key_id: keyId } = (await ofKey.call('GET', '/v1/console/session')).body
  const used = await signIn(service)
  const idle = await signIn(service)
  assert.equal((await service.call('DELETE', `/accounts/api-keys/${keyId}`)).status, 200)
  const revoked = await ofKey.call('GET', '/agents')
  assert.deepEqual([revoked.status, revoked.body], [401, { detail: 'invalid_session' }])

  for (let elapsedMs = 0; elapsedMs < sessionLifeMs - sessionIdleMs / 2; elapsedMs += sessionIdleMs / 2) {
    assert.equal((await used.call('GET', '/agents')).status, 200, 'each use moves its end')
    service.clock.nowMs += sessionIdleMs / 2
  }
  assert.equal((await used.call('GET', '/agents')).status, 200)
  assert.equal((await idle.call('GET', '/agents')).status, 401, 'nobody used it')
  service.clock.nowMs += sessionIdleMs / 2
  assert.equal((await used.call('GET', '/agents')).status, 401, 'a day has passed')
})

test('An export stops once its key is revoked, however slowly it is read [auth.4]', async (context) => {
  const before = await startTestService(context)
  const key = await issueKey(before, { role: 'owner' })
  const { body: keys } = await before.call('GET', '/accounts/api-keys', { key })
  // The first page of the export is larger than all buffers up to a reader who does not read.
  const body = {
    agent_id: 'a',
    mandate_id: 'm',
    merchant_domain: 'api.example.com',
    amount: '1.00',
    resource_url: 'https://x.example',
  }
  for (let made = 0; made < 600; made += 50) {
    await Promise.all(Array.from({ length: 50 }, () => before.call('POST', '/v1/policy/evaluate', { body })))
  }
  await before.stop()
  await lengthenEvaluations(before.databasePath)
  const service = await startTestService(context, { PURSER_DATABASE: `sqlite:${before.databasePath}` })
  const headers = { authorization: `Bearer ${key}` }
  const answer = await fetch(`${service.url}/v1/console/transactions.csv`, { headers })
  const reader = answer.body?.getReader() ?? assert.fail('an export')
  const first = await reader.read()
  await service.call('DELETE', `/accounts/api-keys/${keys[0].id}`, { key: before.sandboxKey })
  let bytes = first.value?.length ?? 0
  const broken = await (async () => {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return undefined
      bytes += value.length
    }
  })().catch((error: unknown) => error)
  assert.ok(broken instanceof Error, `everything arrived, ${bytes} bytes`)
  assert.ok(bytes < 600 * 30_000)
})

test('Agents and merchants cannot sign in, and a wrong key reveals nothing', async () => {
  const service = await shareTestService()
  const attempt = (body: object, headers = {}) =>
    service.call('POST', '/v1/console/session', { key: null, body, headers })
  const merchant = await issueKey(service, { role: 'merchant' })
  for (const [body, status, detail] of [
    [{ api_key: merchant }, 403, 'insufficient_scope'],
    [{ api_key: 'svc_sand_wrong' }, 401, 'invalid_api_key'],
    [{ set_up_token: 'x' }, 403, 'set_up_link_spent'],
  ] as const) {
    const answer = await attempt(body)
    assert.deepEqual([answer.status, answer.body.detail], [status, detail])
    assert.equal(answer.headers.get('set-cookie'), null)
  }
  assert.equal((await attempt({})).status, 422)
  assert.equal((await attempt({ api_key: service.sandboxKey, set_up_token: 'x' })).status, 422)
  // Nobody is signed in to an account that another site chose.
  const forged = await attempt({ api_key: service.sandboxKey }, { origin: 'https://evil.example.com' })
  assert.deepEqual([forged.status, forged.body], [403, { detail: 'cross_site_request' }])
})

test('A key is told if it asks a stream for the environment that it does not have', async (t) => {
  const service = await startTestService(t)
  for (const path of ['transactions.csv', 'feed']) {
    const ask = (environment: string) => service.call('GET', `/v1/console/${path}?environment=${environment}`)
    assert.equal((await ask('sandbox')).status, 200)
    const there = await ask('production')
    assert.deepEqual([there.status, there.body], [403, { detail: 'environment_not_in_session' }])
  }
})

test('A session sees only the environment of its key, and one from the set-up link sees both', async (t) => {
  const service = await startTestService(t)
  const browser = await signIn(service)
  const there = await browser.call('GET', '/agents', { headers: { 'x-purser-environment': 'production' } })
  assert.deepEqual([there.status, there.body], [403, { detail: 'environment_not_in_session' }])

  assert.ok(service.setUpToken)
  const both = browserOf(service, await followSetUpLink(service, service.setUpToken))
  for (const environment of ['sandbox', 'production'] as const) {
    const headers = { 'x-purser-environment': environment }
    const name = `bot of ${environment}`
    assert.equal((await both.call('POST', '/agents', { body: { name }, headers })).status, 201)
    const listed = (await both.call('GET', '/agents', { headers })).body as { name: string }[]
    assert.deepEqual(
      listed.map((agent) => agent.name),
      [name],
    )
    const search = await both.call('GET', `/v1/console/transactions.csv?environment=${environment}`)
    const ofOther = await both.call('GET', '/v1/console/transactions.csv?account_id=acct_other', { headers })
    assert.deepEqual([ofOther.status, ofOther.body], [403, { detail: 'insufficient_scope' }])
    assert.match(search.headers.get('content-disposition') ?? '', new RegExp(environment))
  }
  const none = await both.call('GET', '/agents', { headers: { 'x-purser-environment': 'moon' } })
  assert.equal(none.status, 403)
})

test('The link of a first start signs one browser in, once, within its time', async (t) => {
  const service = await startTestService(t)
  assert.ok(service.setUpToken)
  const planted = await signIn(service)
  const attempts = await Promise.all(
    Array.from({ length: 5 }, () =>
      followSetUpLink(service, service.setUpToken ?? '', { cookie: planted.cookie }),
    ),
  )
  assert.deepEqual(
    attempts.map(({ status }) => status).toSorted((left, right) => left - right),
    [201, 403, 403, 403, 403],
  )
  const signedIn = attempts.find(({ status }) => status === 201)
  assert.deepEqual([signedIn?.body.kind, signedIn?.body.role], ['set_up', 'operator'])
  assert.ok(signedIn && cookieOf(signedIn) !== planted.cookie, 'whatever cookie the request has')
  const asCookie = { cookie: `purser-session=${service.setUpToken}` }
  assert.equal((await service.call('GET', '/agents', { key: null, headers: asCookie })).status, 401)

  const late = await startTestService(t)
  late.clock.nowMs += setUpLinkLifeMs
  const tooLate = await followSetUpLink(late, late.setUpToken ?? '')
  assert.deepEqual([tooLate.status, tooLate.body], [403, { detail: 'set_up_link_spent' }])
  const ofCookie = { cookie: `purser-session=${late.setUpToken}` }
  assert.equal(
    (await late.call('GET', '/agents', { key: null, headers: ofCookie })).status,
    401,
    'a link is not a session',
  )
})

test('By cookie another tenant sees the same as by key: nothing of the others, byte for byte', async (t) => {
  const service = await startTestService(t)
  const second = await createTenant(service)
  const records = await prepareSampleRecords(service, service.sandboxKey)
  const own = await prepareSampleRecords(service, second.sandboxKey)
  const browser = await signIn(service, second.sandboxKey)
  let compared = 0
  for (const { method, path, roles, produces } of endpoints) {
    if (method !== 'GET' || roles === 'public' || !roles.includes('owner')) continue
    const fill = (idOf: (name: keyof typeof records) => string) =>
      path.replaceAll(/\{(\w+)\}/g, (_, name: string) => idOf(name as keyof typeof records))
    const ask = (address: string) =>
      sendPlain(service.url, { method, path: address, headers: { cookie: browser.cookie } })
    if (path.includes('{')) {
      const real = await ask(fill((name) => records[name]))
      const none = await ask(fill((name) => unknown(records[name])))
      assert.deepEqual([real.status, real.text], [none.status, none.text], path)
      assert.equal(real.status, 404)
    } else {
      const { status, text } = await ask(path)
      assert.ok(status === 200, `${path} ${status}`)
      for (const [name, id] of Object.entries(records)) assert.ok(!text.includes(id), `${path} shows ${name}`)
      if (produces) assert.ok(text.includes(own.mandate_id), `${path} shows its own records`)
    }
    compared += 1
  }
  assert.ok(compared > 20)
})

function followSetUpLink(
  service: Awaited<ReturnType<typeof startTestService>>,
  token: string,
  headers: Record<string, string> = {},
) {
  return service.call('POST', '/v1/console/session', { key: null, body: { set_up_token: token }, headers })
}

/** One service for the tests of every route that changes something: none of them changes anything. */
let started: ReturnType<typeof prepareShared> | undefined
function shared(_context: unknown): ReturnType<typeof prepareShared> {
  return (started ??= prepareShared())
}

async function prepareShared() {
  const service = await startTestService({ after: (stop) => void stops.push(stop) })
  const records = await prepareSampleRecords(service, service.sandboxKey)
  return { service, records, browser: await signIn(service), other: await signIn(service) }
}
const stops: (() => Promise<void>)[] = []
test.after(async () => {
  for (const stop of stops) await stop()
})

async function auditLog(service: Awaited<ReturnType<typeof startTestService>>): Promise<unknown> {
  return (await service.call('GET', '/v1/audit-log?limit=200')).body
}

/** A valid id that does not exist. */
function unknown(id: string): string {
  return `${id.slice(0, -6)}zzzzzz`
}

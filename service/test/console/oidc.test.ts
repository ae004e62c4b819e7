import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'

import { Provider, type ClientAuthMethod } from 'oidc-provider'

import { browserOf, cookieOf, signIn } from '../../testing/console-session.ts'
import { createTenant, startTestService } from '../../testing/service.ts'
import { firstUserId } from '../../src/domain/records.ts'

const clientId = 'purser'
const clientSecret = 'a secret of the provider and the service'

test('A user authenticated by the identity provider is signed in to the account with that user id', async (t) => {
  const { service, visit } = await prepare(t)
  const tenant = await createTenant(service, 'ada')
  const options = await service.call('GET', '/v1/console/sign-in', { key: null })
  assert.equal(options.body.oidc_path, '/console/sign-in')

  const browser = new Browser()
  const end = await visit(browser, 'ada')
  assert.equal(end.url, `${service.url}/console/`)
  const cookie = browser.cookiesFor(service.url)
  const session = await service.call('GET', '/v1/console/session', { key: null, headers: { cookie } })
  assert.deepEqual(
    [session.status, session.body.kind, session.body.role, session.body.key_id, session.body.environments],
    [200, 'oidc', 'owner', null, ['sandbox', 'production']],
  )
  assert.equal(session.body.account.id, tenant.accountId)
  const signedIn = browserOf(service, {
    ...session,
    headers: new Headers({ 'set-cookie': `${cookie}; Path=/` }),
  })
  assert.equal(cookieOf({ headers: new Headers({ 'set-cookie': cookie }) }), cookie)
  const made = await signedIn.call('POST', '/agents', {
    body: { name: 'mine' },
    headers: { 'x-purser-environment': 'production' },
  })
  assert.equal(made.status, 201, made.text)
  const owners = await service.call('GET', '/agents', { key: tenant.productionKey })
  assert.deepEqual(
    owners.body.map(({ name }: { name: string }) => name),
    ['mine'],
  )
  const events = await service.call('GET', '/v1/audit-log?type=agent.created', { key: tenant.productionKey })
  assert.equal(events.body[0].actor, session.body.id, 'the session is the actor')
  assert.equal((await signedIn.call('DELETE', '/v1/console/session')).status, 200)
  assert.equal((await signedIn.call('GET', '/agents')).status, 401)
})

for (const method of ['client_secret_basic', 'client_secret_post'] as const) {
  test(`The service signs users in at a provider that supports only ${method}`, async (t) => {
    const { service, visit } = await prepare(t, {}, [method])
    await createTenant(service, 'ada')
    assert.equal((await visit(new Browser(), 'ada')).url, `${service.url}/console/`)
  })
}

test('Sign-ins at the identity provider are limited by address', async (t) => {
  const { service, visit } = await prepare(t, { PURSER_RATE_LIMIT_ADDRESS: '12/1000' })
  const browser = new Browser()
  const callback = await visit(browser, 'stranger', { stopBefore: '/console/sign-in/callback' })
  const cookie = browser.cookiesFor(service.url)
  const forged = callback.url.replace(/code=[^&]+/, 'code=invented')
  const statuses: number[] = []
  for (let count = 0; count < 12; count++) {
    const answer = await fetch(forged, { redirect: 'manual', headers: { cookie } })
    statuses.push(answer.status)
  }
  assert.deepEqual(statuses, [...Array.from({ length: 11 }, () => 403), 429])
  const refused = await fetch(`${service.url}/console/sign-in`, { redirect: 'manual' })
  assert.equal(refused.status, 429)
  assert.match(refused.headers.get('retry-after') ?? '', /^[1-9]\d*$/)
  assert.match(await refused.text(), /Too many sign-ins from your network/)
})

test('A user from the identity provider gets a new session, whatever cookie the browser sent', async (t) => {
  const { service, visit } = await prepare(t)
  const tenant = await createTenant(service, 'ada')
  const attacker = await signIn(service)
  const browser = new Browser()
  browser.plant(attacker.cookie, service.url)
  await visit(browser, 'ada')
  const cookie = browser.cookiesFor(service.url)
  assert.match(cookie, /purser-session=/)
  assert.doesNotMatch(cookie, new RegExp(attacker.cookie))
  const session = await service.call('GET', '/v1/console/session', { key: null, headers: { cookie } })
  assert.equal(session.body.account.id, tenant.accountId)
  const planted = (await attacker.call('GET', '/v1/console/session')).body
  assert.notEqual(planted.account.id, tenant.accountId, 'the planted session is unchanged')
})

test('A provider user without an account learns the user id that an operator needs, and no account is created', async (t) => {
  const { service, visit } = await prepare(t)
  const browser = new Browser()
  const end = await visit(browser, '<i>stranger</i>')
  assert.equal(end.status, 403)
  assert.match(end.text, /You have no account yet/)
  assert.match(end.text, /knows you as &#60;i&#62;stranger&#60;\/i&#62;,/)
  assert.doesNotMatch(end.text, /<i>/)
  assert.match(end.headers.get('content-security-policy') ?? '', /default-src 'none'/)
  assert.doesNotMatch(browser.cookiesFor(service.url), /purser-session/)
})

test("No provider user can sign in to the operator's account of the first start, whatever the user id", async (t) => {
  const { service, visit } = await prepare(t)
  const browser = new Browser()
  const end = await visit(browser, firstUserId)
  assert.equal(end.status, 403)
  assert.match(end.text, /You have no account yet/)
  assert.doesNotMatch(browser.cookiesFor(service.url), /purser-session/)
})

test('A response of the provider counts only in the browser that started the sign-in, once, and unmodified', async (t) => {
  const { service, visit } = await prepare(t)
  await createTenant(service, 'ada')
  const browser = new Browser()
  const callback = await visit(browser, 'ada', { stopBefore: '/console/sign-in/callback' })
  const stranger = await fetch(callback.url, { redirect: 'manual' })
  assert.equal(stranger.status, 400, 'another browser started nothing')
  const forged = new URL(callback.url)
  forged.searchParams.set('state', 'forged')
  const wrong = await browser.fetch(forged.href)
  assert.equal(wrong.status, 403, 'an unknown state')
  assert.doesNotMatch(browser.cookiesFor(service.url), /purser-session/)
  const gone = await browser.fetch(callback.url)
  assert.equal(gone.status, 400, 'the sign-in has ended')
})

test('A sign-in expires after ten minutes, and a refused one signs nobody in', async (t) => {
  const { service, visit } = await prepare(t)
  await createTenant(service, 'ada')
  const slow = new Browser()
  const callback = await visit(slow, 'ada', { stopBefore: '/console/sign-in/callback' })
  const startMs = service.clock.nowMs
  service.clock.nowMs += 10 * 60_000
  assert.equal((await slow.fetch(callback.url)).status, 400)
  service.clock.nowMs = startMs
  const refused = new Browser()
  const begun = await refused.fetch(`${service.url}/console/sign-in`)
  const state = new URL(begun.headers.get('location') ?? '').searchParams.get('state')
  const answer = await refused.fetch(
    `${service.url}/console/sign-in/callback?error=access_denied&state=${state}`,
  )
  assert.equal(answer.status, 403)
  assert.match(await answer.text(), /You were not signed in/)
})

test('While the identity provider is down, the page says so, and keys still sign in', async (t) => {
  const { service, stopProvider } = await prepare(t)
  await stopProvider()
  const answer = await fetch(`${service.url}/console/sign-in`, { redirect: 'manual' })
  assert.equal(answer.status, 502)
  assert.match(await answer.text(), /does not answer/)
  const byKey = { key: null, body: { api_key: service.sandboxKey } }
  assert.equal((await service.call('POST', '/v1/console/session', byKey)).status, 201)
})

/** A service and a real provider, which knows the service and asks each user for a name. */
async function prepare(
  t: TestContext,
  settings: Readonly<Record<string, string>> = {},
  clientAuthMethods: ClientAuthMethod[] = ['client_secret_basic', 'client_secret_post'],
) {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const port = await freePort()
  const publicUrl = `http://127.0.0.1:${port}`
  const service = await startTestService(t, {
    PURSER_PORT: String(port),
    PURSER_PUBLIC_URL: publicUrl,
    PURSER_OIDC_ISSUER: issuer,
    PURSER_OIDC_CLIENT_ID: clientId,
    PURSER_OIDC_CLIENT_SECRET: clientSecret,
    ...settings,
  })
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        redirect_uris: [`${publicUrl}/console/sign-in/callback`],
        response_types: ['code'],
        grant_types: ['authorization_code'],
        token_endpoint_auth_method: clientAuthMethods[0] ?? 'none',
      },
    ],
    clientAuthMethods,
    pkce: { required: () => true },
    // The service's clock stands still on another day; the time does not matter here.
    clockTolerance: 60,
    cookies: { keys: ['a key for this test'] },
    findAccount: (_context, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
  })
  const answer = provider.callback()
  server.on('request', (request, response) => void answer(request, response))
  const stopProvider = async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const visit = (browser: Browser, user: string, options: { stopBefore?: string } = {}) =>
    walk(browser, { start: `${service.url}/console/sign-in`, user, ...options })
  return { service, visit, stopProvider }
}

/** Follows a sign-in to its end, answering the provider's forms as the user. */
async function walk(
  browser: Browser,
  { start, user, stopBefore }: { start: string; user: string; stopBefore?: string },
) {
  let url = start
  for (let steps = 0; steps < 20; steps++) {
    if (stopBefore !== undefined && new URL(url).pathname === stopBefore) {
      return { url, status: 0, text: '', headers: new Headers() }
    }
    let answer = await browser.fetch(url)
    const text = answer.status < 300 || answer.status >= 400 ? await answer.text() : ''
    const form = /<form[^>]*action="([^"]+)"/.exec(text)?.[1]
    const prompt = /name="prompt" value="(\w+)"/.exec(text)?.[1]
    if (form && prompt) {
      const fields = new URLSearchParams({
        prompt,
        ...(prompt === 'login' ? { login: user, password: 'x' } : {}),
      })
      answer = await browser.fetch(new URL(form.replaceAll('&amp;', '&'), url).href, {
        method: 'POST',
        body: fields,
      })
    }
    const location = answer.headers.get('location')
    if (location === null) return { url, status: answer.status, text, headers: answer.headers }
    url = new URL(location, url).href
    if (new URL(url).pathname === '/console/')
      return { url, status: answer.status, text: '', headers: answer.headers }
  }
  throw new Error(`the sign-in never ends: ${url}`)
}

/** As much of a browser as a sign-in needs: cookies by host and path, and no automatic redirects. */
class Browser {
  readonly #cookies = new Map<string, { value: string; path: string; origin: string }>()

  async fetch(url: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers)
    const cookie = this.cookiesFor(url)
    if (cookie !== '') headers.set('cookie', cookie)
    const response = await fetch(url, {
      ...init,
      headers,
      redirect: 'manual',
      signal: AbortSignal.timeout(20_000),
    })
    for (const set of response.headers.getSetCookie()) this.#take(set, url)
    return response
  }

  /** A cookie that an attacker has set. */
  plant(cookie: string, url: string): void {
    this.#take(`${cookie}; Path=/`, url)
  }

  cookiesFor(url: string): string {
    const { origin, pathname } = new URL(url)
    return [...this.#cookies]
      .filter(([, one]) => one.origin === origin && (pathname.startsWith(one.path) || one.path === '/'))
      .map(([key, { value }]) => `${key.split(' ')[1]}=${value}`)
      .join('; ')
  }

  #take(set: string, url: string): void {
    const [pair = '', ...attributes] = set.split(/; */)
    const [name, value] = [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]
    const { origin } = new URL(url)
    const path = /path=([^;]+)/i.exec(attributes.join(';'))?.[1] ?? '/'
    const key = `${origin} ${name} ${path}`
    if (/max-age=0|expires=Thu, 01 Jan 1970/i.test(attributes.join(';'))) this.#cookies.delete(key)
    else this.#cookies.set(key, { value, path, origin })
  }
}

/** A port that was free a moment ago: the provider must know the service's address before that starts. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

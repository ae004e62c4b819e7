import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'

import { endpoints } from '@purser/wire/openapi'
import type { Page } from 'playwright-core'

import {
  prepareSampleRecords,
  sampleBodies,
  type SampleRecords,
} from '../../service/testing/sample-records.ts'
import { createTenant, startTestService, type TestService } from '../../service/testing/service.ts'
import { shareTestService } from '../../service/testing/shared-service.ts'
import { shareBrowser } from './shared-browser.ts'
import { visit } from './visitor.ts'

/** What a page of somebody else tries with the cookie of whoever looks at it. */
interface Attempt {
  readonly method: string
  readonly url: string
  readonly body: string | null
}

test('A page of another port of the same host, whose requests carry the cookie, changes nothing and reads nothing', async (context) => {
  const service = await startTestService(context)
  const records = await prepareSampleRecords(service, service.sandboxKey)
  const tenant = await createTenant(service)
  const visitor = await visit(await shareBrowser(), service)
  await visitor.signIn(service.sandboxKey)
  const before = await snapshotOf(service)
  const cookies = await visitor.page.context().cookies()

  // In the same browser, with the same cookies; what is refused there is the browser's to say.
  const forger = await visitor.page.context().newPage()
  const answers: [what: string, status: number][] = []
  forger.on('response', (answer) => {
    if (!answer.url().startsWith(service.url) || answer.request().method() === 'OPTIONS') return
    answers.push([`${answer.request().method()} ${answer.url()}`, answer.status()])
  })
  await forger.goto(await startForger(context))
  for (const attempt of changesTo(service, records))
    assert.equal(await forge(forger, attempt), 'learnt nothing')
  for (const path of ['/agents', '/v1/console/session', '/v1/console/transactions.csv', '/v1/console/feed']) {
    const read = { method: 'GET', url: service.url + path, body: null }
    assert.equal(await forge(forger, read), 'learnt nothing', path)
  }
  // Nor does it sign the visitor in to an account that somebody else looks at.
  const body = JSON.stringify({ api_key: tenant.sandboxKey })
  const signIn = { method: 'POST', url: `${service.url}/v1/console/session`, body }
  const carriedCookie = answers.splice(0)
  assert.equal(await forge(forger, signIn), 'learnt nothing')

  assert.ok(carriedCookie.length > 30, `${carriedCookie.length} requests came through`)
  assert.deepEqual(
    carriedCookie.filter(([, status]) => status !== 403),
    [],
    'each was refused for where it came from; 401 would say that it carried no cookie',
  )
  // What a form can send is no JSON, and what is JSON has to ask first.
  assert.deepEqual(new Set(answers.map(([, status]) => status)), new Set([422]))
  assert.deepEqual(await snapshotOf(service), before)
  assert.deepEqual(await visitor.page.context().cookies(), cookies)
  await visitor.leave()
})

test('No page can frame the console, or keep a reference to its window', async (context) => {
  const service = await shareTestService()
  const visitor = await visit(await shareBrowser(), service)
  await visitor.signIn(service.sandboxKey)
  const forger = await visitor.page.context().newPage()
  await forger.goto(await startForger(context))
  const looks = await forger.evaluate(async (url) => {
    const frame = document.createElement('iframe')
    const loaded = new Promise((resolve) => frame.addEventListener('load', resolve))
    frame.src = url
    document.body.append(frame)
    await loaded
    return frame.contentWindow?.length
  }, `${service.url}/console/sandbox`)
  assert.equal(looks, 0)
  const [, framed] = forger.frames()
  assert.equal(await framed?.locator('h1', { hasText: 'Overview' }).count(), 0)
  const [opened] = await Promise.all([
    forger.waitForEvent('popup'),
    forger.evaluate((url) => {
      Object.assign(globalThis, { opened: open(url) })
    }, `${service.url}/console/sandbox`),
  ])
  await opened.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
  assert.equal(await opened.evaluate(() => opener as unknown), null)
  assert.equal(await forger.evaluate(() => (globalThis as unknown as { opened: Window }).opened.closed), true)
  await visitor.leave()
})

test('A cookie that was planted before the sign-in is not valid after it', async () => {
  const service = await shareTestService()
  const browser = await shareBrowser()
  const stranger = await visit(browser, service)
  await stranger.signIn(service.sandboxKey)
  const [known] = await stranger.page.context().cookies()
  assert.ok(known)
  await stranger.page.getByRole('button', { name: 'Sign out' }).click()
  await stranger.page.getByLabel('Owner or operator key').waitFor()
  await stranger.leave()

  const visitor = await visit(browser, service)
  await visitor.page.context().addCookies([known])
  await visitor.signIn(service.sandboxKey)
  const cookies = await visitor.page.context().cookies()
  assert.equal(cookies.length, 1)
  assert.notEqual(cookies[0]?.value, known.value)
  const headers = { cookie: `${known.name}=${known.value}` }
  assert.equal((await fetch(`${service.url}/v1/console/session`, { headers })).status, 401)
  await visitor.leave()
})

/** Everything that changes something, with bodies that would be taken. */
function changesTo({ url }: TestService, records: SampleRecords): Attempt[] {
  return endpoints
    .filter(({ method, roles }) => method !== 'GET' && roles !== 'public')
    .map(({ id, method, path, body }) => ({
      method,
      url: url + path.replaceAll(/\{(\w+)\}/g, (_, name: string) => records[name as keyof SampleRecords]),
      body: body ? JSON.stringify(sampleBodies[id as keyof typeof sampleBodies](records)) : null,
    }))
}

/** Tries a request in each way that a page has; what it learnt. */
function forge(page: Page, attempt: Attempt): Promise<string> {
  return page.evaluate(async ({ method, url, body }) => {
    const learnt: string[] = []
    const isSimple = method === 'GET' || method === 'POST'
    // As a program of its own origin would, and as any page may without asking.
    for (const mode of isSimple ? (['cors', 'no-cors'] as const) : (['cors'] as const)) {
      for (const type of ['application/json', 'text/plain']) {
        try {
          const content = body === null ? {} : { body, headers: { 'content-type': type } }
          const answer = await fetch(url, { method, mode, credentials: 'include', ...content })
          if (answer.type !== 'opaque') learnt.push(`${answer.status} of ${url}`)
        } catch {
          // Refused by the browser, which asked the service first or had no leave to tell.
        }
      }
    }
    if (isSimple) {
      // As a form does, whose answer goes to a frame.
      const frame = document.createElement('iframe')
      frame.name = 'answer'
      document.body.append(frame)
      const form = Object.assign(document.createElement('form'), { action: url, method, target: 'answer' })
      form.enctype = 'text/plain'
      const field = Object.assign(document.createElement('input'), { name: body ?? 'x', value: '' })
      form.append(field)
      document.body.append(form)
      const answered = new Promise((resolve) => frame.addEventListener('load', resolve, { once: true }))
      form.submit()
      // What is let through may have no end.
      await Promise.race([answered, new Promise((resolve) => setTimeout(resolve, 5_000))])
      form.remove()
      frame.remove()
    }
    return learnt.length === 0 ? 'learnt nothing' : learnt.join()
  }, attempt)
}

/** All that a forged request might have changed. */
async function snapshotOf(service: TestService): Promise<unknown> {
  const paths = ['/v1/audit-log?limit=200', '/mandates', '/agents', '/accounts/api-keys', '/v1/transactions']
  return Promise.all(paths.map(async (path) => (await service.call('GET', path)).body))
}

/** The page of somebody who runs a server on another port of this host: its site is the same, its origin is not. */
async function startForger(context: TestContext): Promise<string> {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html').end('<!doctype html><title>Win a prize</title><body>')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  context.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

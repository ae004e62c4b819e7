import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'

import { Provider } from 'oidc-provider'
import type { Page } from 'playwright-core'

import { createTenant, preparePurchase, startTestService } from '../../service/testing/service.ts'
import { shareBrowser } from './shared-browser.ts'
import { storyOf } from './story.ts'
import { visit } from './visitor.ts'

test('Signing in by OpenID Connect and by the set-up link, and signing out permanently', async (context) => {
  // It warns at length that it is set up for a test.
  for (const loudness of ['warn', 'info'] as const) context.mock.method(console, loudness, () => {})
  const provider = await startProvider(context)
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const service = await startTestService(context, {
    PURSER_PORT: String(port),
    PURSER_PUBLIC_URL: url,
    PURSER_OIDC_ISSUER: provider.issuer,
    PURSER_OIDC_CLIENT_ID: 'purser-console',
    PURSER_OIDC_CLIENT_SECRET: 'a secret of the two',
  })
  provider.serve(`${url}/console/sign-in/callback`)
  await createTenant(service, 'ada-at-the-provider')
  const browser = await shareBrowser()
  const chapter = storyOf(context)
  const visitor = await visit(browser, service, { otherSite: provider.issuer })
  const { page } = visitor

  async function signInAs(login: string): Promise<void> {
    await page.goto(`${url}/console/`)
    await page.getByRole('link', { name: 'Sign in with your identity provider' }).click()
    await page.getByPlaceholder('Enter any login').fill(login)
    await page.getByPlaceholder('and password').fill('any')
    await page.getByRole('button', { name: 'Sign-in' }).click()
    await page.getByRole('button', { name: 'Continue' }).click()
  }

  await chapter(
    'The set-up link of a first start opens the console once, and disappears from the address',
    async () => {
      assert.ok(service.setUpToken)
      const link = `${url}/console/set-up#${service.setUpToken}`
      await page.goto(link)
      await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
      assert.ok(!page.url().includes('#'))
      const second = await visit(browser, service)
      await second.page.goto(link)
      await second.page.getByText('This set-up link has already been used').waitFor()
      assert.ok(!second.page.url().includes('#'))
      await second.leave()
      // The next chapters begin signed out, a day later.
      await page.context().clearCookies()
      service.clock.nowMs = Date.now()
    },
  )

  await chapter(
    'A user who signs in at the provider sees both environments of the account, each with its name',
    async () => {
      await signInAs('ada-at-the-provider')
      await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
      const strip = page.getByRole('region', { name: 'Environment' })
      await strip.getByText('Sandbox', { exact: true }).waitFor()
      await visitor.show('sandbox/agents?new')
      await page.getByLabel('Name').fill('only-in-the-sandbox')
      await page.getByRole('button', { name: 'Create agent' }).click()
      await page.getByRole('heading', { level: 1, name: 'only-in-the-sandbox' }).waitFor()
      await strip.getByRole('link', { name: 'Go to production' }).click()
      await strip.getByText('Production', { exact: true }).waitFor()
      await page.getByRole('heading', { name: 'Your first mandate' }).waitFor()
      assert.equal(await page.title(), 'Overview · production · Purser')
      await visitor.show('production/agents')
      await page.getByText('No agents yet').waitFor()
    },
  )

  await chapter('After signing out, the cookie is not valid in this or any other browser', async () => {
    const cookies = await page.context().cookies(url)
    const stolen = cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
    const look = () => fetch(`${url}/v1/console/session`, { headers: { cookie: stolen } })
    assert.equal((await look()).status, 200)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Owner or operator key').waitFor()
    assert.equal((await look()).status, 401)
    await page.goBack()
    await page.getByLabel('Owner or operator key').waitFor()
  })

  await chapter(
    'A session that ends elsewhere leads to the sign-in screen, and shows nothing more',
    async () => {
      await visitor.signIn(service.sandboxKey)
      const { body: keys } = await service.call('GET', '/accounts/api-keys')
      const spare = await service.call('POST', '/accounts/api-keys', {
        body: { role: 'owner', environment: 'sandbox' },
      })
      const mine = keys.find((key: { environment: string }) => key.environment === 'sandbox')
      await service.call('DELETE', `/accounts/api-keys/${mine.id}`, { key: spare.body.key })
      // The screen may notice the end by itself before the click.
      const click = page.getByRole('link', { name: 'Agents' }).click({ timeout: 5_000 })
      await click.catch(() => undefined)
      await page.getByLabel('Owner or operator key').waitFor()
    },
  )

  await chapter('After signing in at the identity provider, the requested screen opens', async () => {
    await page.context().clearCookies()
    await page.goto(`${url}/console/production/mandates?status=active`)
    await page.getByRole('link', { name: 'Sign in with your identity provider' }).click()
    await page.getByPlaceholder('Enter any login').fill('ada-at-the-provider')
    await page.getByPlaceholder('and password').fill('any')
    await page.getByRole('button', { name: 'Sign-in' }).click()
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('heading', { level: 1, name: 'Mandates' }).waitFor()
    assert.equal(page.url(), `${url}/console/production/mandates?status=active`)
    // Nowhere else, whoever made the link.
    for (const target of [
      '//elsewhere.example',
      '/../docs',
      '/\\elsewhere.example',
      'https://elsewhere.example',
    ]) {
      const answer = await fetch(`${url}/console/sign-in?return_to=${encodeURIComponent(target)}`, {
        redirect: 'manual',
      })
      const [, cookie = ''] = /purser-sign-in=([\w-]+)\./.exec(answer.headers.get('set-cookie') ?? '') ?? []
      const { returnTo } = JSON.parse(Buffer.from(cookie, 'base64url').toString()) as { returnTo: string }
      assert.match(returnTo, /^\/console\//, target)
      assert.equal(new URL(returnTo, url).origin, url)
    }
  })

  await chapter('A user of the provider without an account cannot sign in', async () => {
    const stranger = await visit(browser, service, { otherSite: provider.issuer })
    await stranger.page.goto(`${url}/console/sign-in`)
    await stranger.page.getByPlaceholder('Enter any login').fill('nobody-here')
    await stranger.page.getByPlaceholder('and password').fill('any')
    await stranger.page.getByRole('button', { name: 'Sign-in' }).click()
    await stranger.page.getByRole('button', { name: 'Continue' }).click()
    await stranger.page.waitForURL(`${url}/console/sign-in/callback**`)
    assert.deepEqual(
      (await stranger.page.context().cookies(url)).filter(({ name }) => name === 'purser-session'),
      [],
    )
    await stranger.leave()
  })

  await visitor.leave()
})

test('A window shows the account that its browser is signed in as, also after another window has changed it', async (context) => {
  const service = await startTestService(context)
  const visitor = await visit(await shareBrowser(), service)
  const { page } = visitor
  await preparePurchase(service)
  const { sandboxKey } = await createTenant(service)
  await visitor.signIn(service.sandboxKey)
  await visitor.show('sandbox/mandates')
  await page.getByRole('table', { name: 'Mandates' }).waitFor()
  for (const [key, account, environment] of [
    [sandboxKey, 'Second', 'Sandbox'],
    [service.productionKey, 'First account', 'Production'],
  ] as const) {
    await signInElsewhere(page, service.url, key)
    await page.evaluate(() => dispatchEvent(new Event('visibilitychange')))
    await page.locator('.sidebar .who').getByText(account).waitFor()
    await page.getByRole('region', { name: 'Environment' }).getByText(environment, { exact: true }).waitFor()
    assert.equal(await page.getByText('Buy research data').count(), 0)
  }
  await visitor.leave()
})

test('A window that does not know yet of a sign-in in another one shows nothing of that account', async (context) => {
  const service = await startTestService(context)
  const visitor = await visit(await shareBrowser(), service)
  const { page } = visitor
  await preparePurchase(service)
  const { sandboxKey } = await createTenant(service)
  await visitor.signIn(sandboxKey)
  const told = Promise.withResolvers<void>()
  await page.route('**/v1/console/session', async (route) => {
    await told.promise
    await route.continue()
  })
  await signInElsewhere(page, service.url, service.sandboxKey)
  await visitor.show('sandbox/mandates')
  const who = page.locator('.sidebar .who')
  const mandate = page.getByText('Buy research data')
  await mandate.or(page.getByText('This page is out of date.')).first().waitFor()
  assert.deepEqual([await who.getByText('Second').count(), await mandate.count()], [1, 0])
  told.resolve()
  await who.getByText('First account').waitFor()
  await mandate.first().waitFor()
  await visitor.leave()
})

test('A window that does not know yet of a sign-in in another one exports nothing of that account', async (context) => {
  const service = await startTestService(context)
  const visitor = await visit(await shareBrowser(), service)
  const { page } = visitor
  await preparePurchase(service)
  const { sandboxKey } = await createTenant(service)
  await visitor.signIn(sandboxKey)
  await visitor.show('sandbox/transactions')
  const link = page.getByRole('link', { name: 'Export as CSV' })
  const exported = async () => {
    const address = new URL((await link.getAttribute('href')) ?? '', page.url())
    return (await page.request.get(address.href)).status()
  }
  assert.equal(await exported(), 200)
  await page.route('**/v1/console/session', (route) => route.abort())
  await signInElsewhere(page, service.url, service.sandboxKey)
  assert.equal(await exported(), 403)
  await visitor.leave()
})

/** Signs in as another window of the browser does. */
async function signInElsewhere(page: Page, url: string, key: string): Promise<void> {
  const answer = await page.request.post(`${url}/v1/console/session`, { data: { api_key: key } })
  assert.equal(answer.status(), 201)
}

/** A real OpenID provider, whose client is named once its address is known. */
async function startProvider(
  context: TestContext,
): Promise<{ readonly issuer: string; readonly serve: (redirectUri: string) => void }> {
  const server = createServer()
  const port = await listen(server)
  context.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const issuer = `http://127.0.0.1:${port}`
  return {
    issuer,
    serve: (redirectUri) => {
      const provider = new Provider(issuer, {
        clients: [
          { client_id: 'purser-console', client_secret: 'a secret of the two', redirect_uris: [redirectUri] },
        ],
        cookies: { keys: ['a key of the test'] },
      })
      server.on('request', (request, response) => void provider.callback()(request, response))
    },
  }
}

/** A port that was free a moment ago: the service must know its public address before it listens. */
async function freePort(): Promise<number> {
  const server = createServer()
  const port = await listen(server)
  await new Promise((resolve) => server.close(resolve))
  return port
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

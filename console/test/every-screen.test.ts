import assert, { type AssertionError } from 'node:assert/strict'
import { test } from 'node:test'

import type { Mandate, Purser } from '@purser/client'
import type { Page } from 'playwright-core'

import { startTestService } from '../../service/testing/service.ts'
import { findBarriers } from './accessibility.ts'
import { everyScreen, type ScreenStop } from './every-screen.ts'
import { everyEmptyScreen, everyFurtherState } from './every-state.ts'
import { chooseFromMenu } from './menu.ts'
import { seedSandbox } from './seeded-sandbox.ts'
import { shareBrowser } from './shared-browser.ts'
import { addSpendingRules } from './spending-rules.ts'
import { visit, type Visitor } from './visitor.ts'
import { askForApproval } from './waiting-requests.ts'
import { layWire } from './wire.ts'

test('Every screen and dialog passes axe in both themes and on a phone, and names its environment', async (context) => {
  const service = await startTestService(context)
  const { purser, mandates, agents } = await seedSandbox(service, Date.now(), { hours: 1, days: 3 })
  const find = async (status: 'denied' | 'paid') =>
    (await purser.transactions.list({ status, limit: 1 }).page()).items[0]?.id ?? ''
  const [denied, paid] = [await find('denied'), await find('paid')]
  const { payment, increase } = await askForApproval(service, agents.research)
  const rules = await addSpendingRules(service, agents.research)
  const ids = {
    agent: agents.research.id,
    mandate: mandates[0]?.id ?? '',
    denied,
    paid,
    approval: payment.id,
    increase: increase.id,
    limited: rules.mandate.id,
    budget: rules.budget.id,
    overLimit: rules.denialId,
    keyHint: service.sandboxKey.slice(-4),
  }
  const visitor = await visit(await shareBrowser(), service, { colorScheme: 'light' })
  const { page } = visitor
  const tour = startTour(visitor)

  await page.goto(`${service.url}/console/`)
  await page.getByRole('button', { name: 'Sign in' }).waitFor()
  await tour.look('sign-in')
  await page.getByText('Where do I find a key?').click()
  await page.getByLabel('Owner or operator key').fill('svc_sand_wrong')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('alert').waitFor()
  await tour.look('sign-in with a wrong key')
  await visitor.signIn(service.sandboxKey)
  for (const stop of [...everyScreen(ids), ...everyFurtherState(ids)]) await tour.stopAt(stop)

  await visitor.go('sandbox')
  await page.setViewportSize({ width: 375, height: 740 })
  await page.getByRole('button', { name: 'Menu' }).click()
  await page.getByRole('dialog', { name: 'Menu' }).waitFor()
  await tour.look('menu of a phone')
  await authorizePayment(purser, mandates[0])
  await visitor.go('sandbox?stop')
  const dialog = page.getByRole('dialog', { name: 'Stop all agents?' })
  await dialog.getByLabel(/to confirm/).fill('stop')
  await dialog.getByRole('button', { name: 'Stop all agents' }).click()
  await page.getByText('Agents are stopped.').waitFor()
  await page.getByText('1 authorized payment of 1.00 USDC can still be charged').waitFor()
  await tour.look('stopped, with what can still be charged')
  assert.deepEqual(tour.found, [])
  await visitor.leave()
})

test('Every empty screen of both environments passes axe in both themes and on a phone', async (context) => {
  const service = await startTestService(context)
  const visitor = await visit(await shareBrowser(), service, { colorScheme: 'light' })
  const { page } = visitor
  const tour = startTour(visitor)
  // Who followed the link of a first start sees both environments.
  await page.goto(`${service.url}/console/set-up#${service.setUpToken}`)
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
  for (const stop of everyEmptyScreen) await tour.stopAt(stop)
  const strip = page.locator('.environment-strip')
  const looksOf = async (environment: string) => {
    await visitor.go(environment)
    return strip.evaluate((element) => {
      const { backgroundColor, backgroundImage } = getComputedStyle(element)
      return { backgroundColor, backgroundImage }
    })
  }
  const [sandbox, production] = [await looksOf('sandbox'), await looksOf('production')]
  assert.notEqual(sandbox.backgroundColor, production.backgroundColor)
  assert.notEqual(sandbox.backgroundImage, production.backgroundImage, 'not by colour alone')
  assert.deepEqual(tour.found, [])
  await visitor.leave()

  const late = await visit(await shareBrowser(), service, { colorScheme: 'light' })
  await late.page.goto(`${service.url}/console/set-up#${service.setUpToken}`)
  await late.page.getByText('This set-up link has already been used').waitFor()
  assert.deepEqual(await findBarriers(late.page), [])
  await late.leave()
})

test('Every error screen passes axe in both themes and on a phone', async (context) => {
  const service = await startTestService(context)
  const { purser, mandates } = await seedSandbox(service, Date.now(), { hours: 1, days: 1 })
  const wire = await layWire(context, service)
  const visitor = await visit(await shareBrowser(), wire, { colorScheme: 'light' })
  const { page } = visitor
  const tour = startTour(visitor)
  await visitor.signIn(service.sandboxKey)

  await page.route('**/assets/developers-*.js', (route) => route.fulfill({ status: 404 }))
  await page.getByRole('link', { name: 'Developers' }).click()
  await page.getByText('This screen could not be shown').waitFor()
  await tour.look('a screen whose file is gone')

  await visitor.go('sandbox/mandates')
  const row = page.getByRole('row', { name: /Hourly weather records/ })
  await row.getByText('active').waitFor()
  await purser.mandates.revoke(mandates[0]?.id ?? '')
  await chooseFromMenu(page, 'Hourly weather records, 1990 to today', 'Pause')
  await page.getByText('The mandate is revoked.').first().waitFor()
  // It was refused because the list was out of date, so that is read anew.
  await row.getByText('revoked').waitFor()
  await tour.look('a change that failed')

  await visitor.go('sandbox/mandates')
  await page.getByRole('table', { name: 'Mandates' }).waitFor()
  await page.getByRole('link', { name: 'Overview' }).click()
  await page.getByText('Spent today').waitFor()
  await wire.cut()
  await page.getByText('Status unknown.').waitFor()
  await tour.look('figures that are out of date')
  await page.getByRole('link', { name: 'Mandates', exact: true }).click()
  await page.getByLabel('Purpose contains').fill('anything')
  await page.getByText('The service could not be reached.').waitFor()
  await tour.look('a list that cannot be reached')
  const signOut = page.getByRole('button', { name: 'Sign out' })
  await signOut.click()
  await page.getByText('You may still be signed in.').waitFor()
  await tour.look('a sign-out without the service')
  await wire.mend()
  await signOut.click()
  const key = page.getByLabel('Owner or operator key')
  await key.waitFor()
  await wire.cut()
  await key.fill(service.sandboxKey)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('alert').filter({ hasText: 'could not be reached' }).waitFor()
  await tour.look('a sign-in without the service')
  assert.deepEqual(tour.found, [])
  await visitor.leave()
})

test('A foreign style, a request to another host and a dialog are noticed', async (context) => {
  const service = await startTestService(context)
  const visitor = await visit(await shareBrowser(), service)
  const { page } = visitor
  await page.goto(`${service.url}/console/`)
  await page.getByRole('button', { name: 'Sign in' }).waitFor()
  for (const misdeed of [
    () =>
      document.head.append(
        Object.assign(document.createElement('style'), { textContent: 'p { color: red }' }),
      ),
    () => document.body.insertAdjacentHTML('beforeend', '<p style="color: red">loud</p>'),
    () => fetch('http://127.0.0.1:9/').catch(() => undefined),
    () => alert('script'),
  ])
    await page.evaluate<unknown>(misdeed)
  await assert.rejects(visitor.leave(), ({ actual }: AssertionError) => {
    const faults = actual as string[]
    assert.equal(faults.filter((fault) => fault.startsWith('console: Applying inline style')).length, 2)
    assert.ok(faults.some((fault) => fault.startsWith("console: Connecting to 'http://127.0.0.1:9/'")))
    assert.ok(faults.includes('dialog: script'))
    return true
  })
})

/** A payment that a stop leaves to its merchant. */
async function authorizePayment(purser: Purser, mandate: Mandate | undefined): Promise<void> {
  const asked = await purser.payments.requestProof({
    agent_id: mandate?.agent_id ?? '',
    mandate_id: mandate?.id ?? '',
    amount: '1.00',
    resource_url: 'https://data.weather.example/stations/114',
  })
  assert.ok(asked.decision === 'approved')
  const { authorized } = await purser.payments.authorize({
    proof: asked.proof,
    merchant_domain: 'data.weather.example',
    expected_amount: '1.00',
  })
  assert.equal(authorized, true)
}

/** Goes from screen to screen and looks closely at each. */
function startTour({ page, show }: Visitor) {
  const found: string[] = []
  async function look(name: string): Promise<void> {
    found.push(...(await findBarriers(page)).map((one) => `${name}, ${one}`))
  }
  return {
    found,
    look,
    stopAt: async ({ name, path, isReady, prepare }: ScreenStop): Promise<void> => {
      await show(path)
      await isReady(page)
      await prepare?.(page)
      await look(name)
      if (!(await isMarked(page, path.split(/[/?]/)[0] ?? '')))
        found.push(`${name}: its environment is not marked`)
    },
  }
}

/** The environment stands in the strip on top, in the title of the window, and in the address. */
async function isMarked(page: Page, environment: string): Promise<boolean> {
  const strip = await page.locator('.environment-strip strong').innerText()
  const title = await page.title()
  const { pathname } = new URL(page.url())
  return (
    strip.toLowerCase() === environment &&
    title.endsWith(` · ${environment} · Purser`) &&
    pathname.startsWith(`/console/${environment}`)
  )
}

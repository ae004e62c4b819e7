import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Purser } from '@purser/client'
import type { Route } from 'playwright-core'

import { preparePurchase } from '../../service/testing/service.ts'
import { shareTestService } from '../../service/testing/shared-service.ts'
import { shareBrowser } from './shared-browser.ts'
import { storyOf } from './story.ts'
import { visit } from './visitor.ts'

test('Forms: what fails after they are closed, two clicks, and a key that is shown once', async (context) => {
  const service = await shareTestService()
  service.clock.nowMs = Date.now()
  const purser = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url })
  const { mandateId } = await preparePurchase(service)
  const chapter = storyOf(context)
  const visitor = await visit(await shareBrowser(), service)
  const { page } = visitor
  await visitor.signIn(service.sandboxKey)
  const dialog = page.locator('.dialog')

  /** Holds back the next POST to a path; the result lets it go. */
  async function holdBack(path: string, answer: 'passed' | 'failed') {
    const held = Promise.withResolvers<void>()
    await page.route(
      (url) => url.pathname === path,
      async (route) => {
        if (route.request().method() !== 'POST') return route.fallback()
        await held.promise
        if (answer === 'passed') return route.continue()
        return route.fulfill({ status: 403, json: { detail: 'insufficient_scope' } })
      },
    )
    return async () => {
      held.resolve()
      await page.unrouteAll({ behavior: 'wait' })
    }
  }

  await chapter('A stop that fails after its dialog was closed says that agents may still pay', async () => {
    await page.getByRole('button', { name: 'Stop all agents' }).click()
    const letGo = await holdBack('/v1/console/stop', 'failed')
    await dialog.getByLabel(/to confirm/).fill('stop')
    await page.keyboard.press('Enter')
    await dialog.getByRole('button', { name: 'Stop all agents' }).and(page.locator(':disabled')).waitFor()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await letGo()
    const toast = page.locator('.toast', { hasText: 'The stop failed, and agents may still pay.' })
    await toast.getByRole('button', { name: 'Dismiss' }).click()
    assert.equal((await purser.mandates.get(mandateId)).status, 'active')
  })

  await chapter(
    'A lost answer to a closed form or a button does not claim that nothing was done',
    async () => {
      await visitor.show('sandbox/keys?new')
      await dialog.getByLabel('Role').selectOption('merchant')
      const held = Promise.withResolvers<void>()
      await page.route('**/accounts/api-keys', async (route) => {
        await held.promise
        await loseAnswer(route)
      })
      const issue = dialog.getByRole('button', { name: 'Issue sandbox key' })
      await issue.click()
      await issue.and(page.locator(':disabled')).waitFor()
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' })
      held.resolve()
      await page.getByText('Perhaps no key was issued. The service could not be reached.').waitFor()
      await visitor.show(`sandbox/mandates/${mandateId}`)
      await page.route('**/pause', loseAnswer)
      await page.getByRole('button', { name: 'Pause', exact: true }).click()
      await page
        .getByText('Perhaps not paused: Buy research data. The service could not be reached.')
        .waitFor()
      assert.equal((await purser.mandates.get(mandateId)).status, 'paused')
      await page.unrouteAll({ behavior: 'wait' })
      await page.getByRole('button', { name: 'Resume', exact: true }).click()
      await page.getByText('Resumed: Buy research data').waitFor()
      for (const toast of await page.locator('.toast').all())
        assert.doesNotMatch(await toast.innerText(), /may or may not/)
      const dismiss = page.locator('.toast').getByRole('button', { name: 'Dismiss' })
      while ((await dismiss.count()) > 0) await dismiss.first().click()
      await visitor.show('sandbox')
    },
  )

  await chapter('A failure in an open dialog is shown only there', async () => {
    await page.getByRole('button', { name: 'Stop all agents' }).click()
    await page.route('**/v1/console/stop', (route) =>
      route.fulfill({ status: 403, json: { detail: 'insufficient_scope' } }),
    )
    await dialog.getByLabel(/to confirm/).fill('stop')
    await page.keyboard.press('Enter')
    await dialog.getByRole('alert').waitFor()
    assert.equal(await page.locator('.toast').count(), 0)
    await page.unrouteAll({ behavior: 'wait' })
    await page.keyboard.press('Escape')
  })

  await chapter('A double click creates one', async () => {
    await visitor.show('sandbox/agents?new')
    await dialog.getByLabel('Name').fill('twin')
    await dialog.getByRole('button', { name: 'Create agent' }).dblclick()
    await page.getByRole('heading', { level: 1, name: 'twin' }).waitFor()
    const agents = await purser.agents.list().toArray({ limit: 9 })
    assert.deepEqual(agents.map(({ name }) => name).toSorted(), ['research-bot', 'twin'])
  })

  await chapter('What is created after its form was closed leads nobody away from another form', async () => {
    const created = page.locator('.toast', { hasText: 'Agent created' })
    await created.getByRole('button', { name: 'Dismiss' }).click()
    await created.waitFor({ state: 'detached' })
    await visitor.show('sandbox/agents?new')
    await dialog.getByLabel('Name').fill('late')
    const letGo = await holdBack('/agents', 'passed')
    const create = dialog.getByRole('button', { name: 'Create agent' })
    await create.click()
    await create.and(page.locator(':disabled')).waitFor()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'Sellers', exact: true }).click()
    await page.getByRole('button', { name: 'New seller' }).first().click()
    await dialog.getByLabel('Name').fill('Shop')
    await letGo()
    await created.waitFor()
    assert.equal(new URL(page.url()).pathname, '/console/sandbox/sellers')
    assert.equal(await dialog.getByLabel('Name').inputValue(), 'Shop')
    await page.keyboard.press('Escape')
  })

  await chapter(
    'A key is shown although its form was closed meanwhile, and a second click does not close it',
    async () => {
      await visitor.show('sandbox/keys?new')
      await dialog.getByLabel('Role').selectOption('owner')
      const letGo = await holdBack('/accounts/api-keys', 'passed')
      const issue = dialog.getByRole('button', { name: 'Issue sandbox key' })
      await issue.click()
      await issue.and(page.locator(':disabled')).waitFor()
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' })
      const appearsDisabled = page.waitForFunction(
        () => document.querySelector('button:disabled')?.textContent === "I've saved it",
      )
      await letGo()
      await appearsDisabled
      assert.match(await dialog.getByLabel('Key', { exact: true }).innerText(), /^svc_sand_/)
      const copy = dialog.getByRole('button', { name: 'Copy: Key' })
      await page.evaluate(() => {
        navigator.clipboard.writeText = () => Promise.reject(new DOMException('', 'NotAllowedError'))
      })
      await copy.click()
      await page.locator('.toast', { hasText: 'Not copied: the browser does not allow it.' }).waitFor()
      assert.equal(await copy.innerText(), 'Copy')
      await dialog.getByRole('button', { name: "I've saved it" }).click()
      await dialog.waitFor({ state: 'detached' })
    },
  )

  await chapter(
    'A key is shown although its screen was left while it was issued, until it is saved',
    async () => {
      await visitor.show('sandbox/keys?new')
      await dialog.getByLabel('Role').selectOption('merchant')
      const letGo = await holdBack('/accounts/api-keys', 'passed')
      const issue = dialog.getByRole('button', { name: 'Issue sandbox key' })
      await issue.click()
      await issue.and(page.locator(':disabled')).waitFor()
      await visitor.show('sandbox/sellers?new')
      await dialog.getByLabel('Name').fill('Shop')
      await letGo()
      const key = dialog.getByLabel('Key', { exact: true })
      assert.match(await key.innerText(), /^svc_sand_/)
      assert.equal(await dialog.getByLabel('Name').inputValue(), 'Shop')
      // The second Enter of somebody in a hurry.
      await page.keyboard.press('Enter')
      await page.goBack()
      await page.getByRole('heading', { level: 1, name: 'Not found', includeHidden: true }).waitFor()
      assert.match(await key.innerText(), /^svc_sand_/)
      const mayLeave = () =>
        page.evaluate(() => dispatchEvent(new Event('beforeunload', { cancelable: true })))
      assert.equal(await mayLeave(), false)
      await dialog.getByRole('button', { name: "I've saved it" }).click()
      await dialog.waitFor({ state: 'detached' })
      assert.equal(await mayLeave(), true)
      await visitor.show('sandbox')
    },
  )

  await chapter('The question whether to resume one stop does not come back with the next stop', async () => {
    const stopped = page.getByText('Agents are stopped.')
    await purser.console.stop()
    await page.getByRole('button', { name: 'Resume stopped mandates' }).click()
    await dialog.getByRole('button', { name: 'Resume now' }).waitFor()
    // Somebody else resumes them, and later stops all agents again.
    await purser.console.resume()
    await stopped.waitFor({ state: 'detached' })
    await purser.console.stop()
    await stopped.waitFor()
    assert.equal(await dialog.count(), 0)
  })

  await chapter(
    'The answer to whether to resume one stop does not resume another that began since',
    async () => {
      await page.getByRole('button', { name: 'Resume stopped mandates' }).click()
      await dialog.getByRole('button', { name: 'Resume now' }).waitFor()
      // The page learns nothing of the other stop before the answer.
      await page.route('**/v1/console/status', (route) => route.abort())
      await purser.console.resume()
      await purser.console.stop()
      await dialog.getByRole('button', { name: 'Resume now' }).click()
      const toast = page.locator('.toast', { hasText: 'Another stop has begun since' })
      assert.equal(
        await toast.getByRole('alert').innerText(),
        'Not all stopped mandates were resumed. Another stop has begun since: resume again to end both.',
      )
      assert.equal((await purser.mandates.get(mandateId)).status, 'paused')
      await page.unrouteAll({ behavior: 'wait' })
    },
  )

  await chapter(
    'A key whose answer comes after a sign-out is not shown to whoever signs in next',
    async () => {
      await visitor.show('sandbox/keys?new')
      await dialog.getByLabel('Role').selectOption('merchant')
      const [issued, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      await page.route('**/accounts/api-keys', async (route) => {
        const response = await route.fetch()
        issued.resolve()
        await held.promise
        await route.fulfill({ response })
      })
      await dialog.getByRole('button', { name: 'Issue sandbox key' }).click()
      await issued.promise
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' })
      await page.getByRole('button', { name: 'Sign out' }).click()
      await page.getByRole('button', { name: 'Sign in' }).waitFor()
      held.resolve()
      await page.getByText('A key was issued, but you have signed out, so it is not shown.').waitFor()
      await page.unrouteAll({ behavior: 'wait' })
      await page.getByLabel('Owner or operator key').fill(service.sandboxKey)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('heading', { level: 1 }).and(page.locator('#content h1')).waitFor()
      assert.equal(await dialog.count(), 0)
    },
  )

  await visitor.leave()
})

async function loseAnswer(route: Route): Promise<void> {
  await route.fetch()
  await route.abort()
}

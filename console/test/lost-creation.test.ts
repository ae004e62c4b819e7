import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Purser } from '@purser/client'
import type { Page } from 'playwright-core'

import { preparePurchase } from '../../service/testing/service.ts'
import { shareTestService } from '../../service/testing/shared-service.ts'
import { shareBrowser } from './shared-browser.ts'
import { storyOf } from './story.ts'
import { visit } from './visitor.ts'

test('A mandate or a shared budget whose answer was lost is created once', async (context) => {
  const service = await shareTestService()
  service.clock.nowMs = Date.now()
  const purser = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url })
  const { agentId } = await preparePurchase(service)
  const chapter = storyOf(context)
  const visitor = await visit(await shareBrowser(), service)
  const { page } = visitor
  await visitor.signIn(service.sandboxKey)
  const dialog = page.locator('.dialog')
  const mandates = async () =>
    (await purser.mandates.list().toArray({ limit: 9 })).map(({ purpose }) => purpose)
  const budgets = async () => (await purser.budgets.list().toArray({ limit: 9 })).map(({ name }) => name)

  async function fillMandate() {
    await visitor.show(`sandbox/mandates/new?agent=${agentId}`)
    await page.getByLabel('Purpose').fill('Maps')
    await page.getByLabel('Total budget').fill('100')
    await page.getByLabel('Cap per payment').fill('10')
    await page.getByLabel('Allowed sellers').fill('*')
  }

  await chapter('A mandate, by pressing the button again', async () => {
    const create = page.getByRole('button', { name: 'Create mandate' })
    await fillMandate()
    await loseAnswers(page, '/mandates')
    await create.click()
    await page.getByText('The mandate “Maps” was sent, but no answer came back.').waitFor()
    assert.deepEqual(await mandates(), ['Maps', 'Buy research data'])
    await page.unrouteAll({ behavior: 'wait' })
    await create.click()
    await page.getByRole('heading', { level: 1, name: 'Maps' }).waitFor()
    assert.deepEqual(await mandates(), ['Maps', 'Buy research data'])
    // The next one is another one, also with the same terms.
    await fillMandate()
    assert.equal(await page.getByText('no answer came back').count(), 0)
    await create.click()
    await page.getByRole('heading', { level: 1, name: 'Maps' }).waitFor()
    assert.deepEqual(await mandates(), ['Maps', 'Maps', 'Buy research data'])
  })

  await chapter('A budget, although its dialog was closed and the page reloaded', async () => {
    const create = dialog.getByRole('button', { name: 'Create budget' })
    const isUnknown = dialog.getByText('The budget “Team” was sent, but no answer came back.')
    await visitor.show('sandbox/budgets')
    await page.getByRole('button', { name: 'New budget' }).first().click()
    await dialog.getByLabel('Name').fill('Team')
    await loseAnswers(page, '/v1/budgets')
    await create.click()
    await isUnknown.waitFor()
    await page.unrouteAll({ behavior: 'wait' })
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await page.reload()
    await page.getByRole('button', { name: 'New budget' }).first().click()
    await isUnknown.waitFor()
    await dialog.getByLabel('Name').fill('Team')
    await create.click()
    await page.getByRole('heading', { level: 1, name: 'Team' }).waitFor()
    assert.deepEqual(await budgets(), ['Team'])
    await visitor.show('sandbox/budgets')
    await page.getByRole('button', { name: 'New budget' }).first().click()
    assert.equal(await isUnknown.count(), 0)
    await page.keyboard.press('Escape')
  })

  await visitor.leave()
})

/** Lets creations through, and loses the answers. */
async function loseAnswers(page: Page, path: string): Promise<void> {
  await page.route(
    (url) => url.pathname === path,
    async (route) => {
      if (route.request().method() !== 'POST') return route.fallback()
      await route.fetch()
      return route.abort()
    },
  )
}

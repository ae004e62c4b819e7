import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Purser } from '@purser/client'
import type { Page } from 'playwright-core'

import { issueProof, preparePurchase, startTestService, verifyProof } from '../../service/testing/service.ts'
import { statusPollMs, statusTimeoutMs } from '../src/api/status-poll.ts'
import { shareBrowser } from './shared-browser.ts'
import { storyOf } from './story.ts'
import { visit } from './visitor.ts'
import { layWire } from './wire.ts'

test('A service that goes down is noticed within 5 seconds, even if it accepts requests and never answers', () => {
  assert.ok(statusPollMs + statusTimeoutMs <= 4_500, 'leaves time for one rendering')
})

test('When the service is down every screen says so, none says that all is well, and each recovers by itself', async (context) => {
  const service = await startTestService(context)
  service.clock.nowMs = Date.now()
  const purchase = await preparePurchase(service)
  assert.equal((await verifyProof(service, await issueProof(service, purchase))).status, 200)
  const wire = await layWire(context, service)
  const chapter = storyOf(context)
  const visitor = await visit(await shareBrowser(), wire)
  const { page } = visitor
  await visitor.signIn(service.sandboxKey)
  const banner = page.getByRole('region', { name: 'Connection' })
  const heading = (name: string) => page.getByRole('heading', { level: 1, name, exact: true }).waitFor()

  await chapter('The overview no longer says "No problems"', async () => {
    await page.getByText('No problems.').waitFor()
    await wire.cut()
    const cutMs = performance.now()
    await banner.getByText('The service does not answer.').waitFor()
    context.diagnostic(`noticed after ${Math.round(performance.now() - cutMs)} ms`)
    assert.equal(await page.getByText('No problems.').count(), 0)
    await page.getByText('Status unknown.').waitFor()
    await page.locator('.tile', { hasText: 'Spent today' }).waitFor()
    await wire.mend()
    await page.getByText('No problems.').waitFor()
    await banner.waitFor({ state: 'detached' })
  })

  await chapter(
    'Every screen says so, even one that cannot be loaded, and shows its data as soon as it can',
    async () => {
      await page.getByRole('link', { name: 'Mandates', exact: true }).click()
      await page.getByRole('table', { name: 'Mandates' }).waitFor()
      await wire.cut()
      await banner.getByText('The service does not answer.').waitFor()
      // The code of these was never loaded; that of the overview was.
      for (const [link, title] of [
        ['System', 'This screen is not loaded yet'],
        ['Keys', 'This screen is not loaded yet'],
        ['Overview', 'Overview'],
        ['Agents', 'This screen is not loaded yet'],
      ] as const) {
        await page.getByRole('link', { name: link, exact: true }).click()
        await heading(title)
        await banner.getByText('The service does not answer.').waitFor()
      }
      await wire.mend()
      await page.getByRole('table', { name: 'Agents' }).getByText('research-bot').waitFor()
      await heading('Agents')
      await banner.waitFor({ state: 'detached' })
      assert.match(page.url(), /sandbox\/agents$/)
    },
  )

  await chapter('A list that failed to load shows its rows when the service is back', async () => {
    await visitor.show('sandbox/transactions')
    await page.getByRole('table', { name: 'Transactions' }).waitFor()
    await wire.cut()
    await banner.waitFor()
    await page.getByLabel('Status').selectOption('paid')
    await page.getByRole('alert').getByText('The service could not be reached').waitFor()
    await wire.mend()
    await page.getByRole('table', { name: 'Transactions' }).waitFor()
    assert.equal(await page.getByRole('alert').count(), 0)
  })

  await chapter('A service that accepts requests and never answers is down, too', async () => {
    await visitor.show('sandbox')
    await page.getByText('No problems.').waitFor()
    await page.route('**/v1/**', () => undefined)
    await banner.getByText('The service does not answer.').waitFor()
    assert.equal(await page.getByText('No problems.').count(), 0)
    await page.unroute('**/v1/**')
    await page.getByText('No problems.').waitFor()
  })

  await chapter('A browser without a network says the same', async () => {
    await page.context().setOffline(true)
    await banner.getByText('The service does not answer.').waitFor()
    await page.context().setOffline(false)
    await banner.waitFor({ state: 'detached' })
  })

  await chapter('A service without its database says that', async () => {
    await page.route('**/v1/**', (route) =>
      route.fulfill({ status: 503, json: { detail: 'store_unavailable' } }),
    )
    await banner.getByText('The service cannot reach its database.').waitFor()
    assert.equal(await page.getByText('No problems.').count(), 0)
    await page.unroute('**/v1/**')
    await page.getByText('No problems.').waitFor()
  })

  await chapter('A console that failed to load starts when the service answers', async () => {
    await page.route('**/v1/console/session', (route) => route.abort())
    await page.reload()
    await heading('Purser does not answer')
    await page.unroute('**/v1/console/session')
    await heading('Overview')
  })

  await visitor.leave()
})

test('When agents are stopped, every screen says so, and can resume them', async (context) => {
  const service = await startTestService(context)
  service.clock.nowMs = Date.now()
  await preparePurchase(service)
  const purser = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url })
  const visitor = await visit(await shareBrowser(), service)
  const { page } = visitor
  await visitor.signIn(service.sandboxKey)
  await visitor.show('sandbox/audit-log')
  // Elsewhere; nobody touches the page.
  await purser.console.stop()
  for (const screen of screens) {
    await visitor.show(`sandbox/${screen}`)
    await stopped(page).getByText('1 mandate is paused').waitFor()
  }
  await stopped(page).getByRole('button', { name: 'Resume' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Resume now' }).click()
  await stopped(page).waitFor({ state: 'detached' })
  const [mandate] = (await purser.mandates.list().page()).items
  assert.equal(mandate?.status, 'active')
  await visitor.leave()
})

const screens = [
  '',
  'mandates',
  'mandates/new',
  'transactions',
  'agents',
  'sellers',
  'keys',
  'developers',
  'system',
  'nowhere',
  'audit-log',
] as const

function stopped(page: Page) {
  return page.getByRole('region', { name: 'Stopped agents' })
}

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { test } from 'node:test'

import type { AxeResults, RunOptions } from 'axe-core'
import type { Page } from 'playwright-core'

import { startTestService } from '../../service/testing/service.ts'
import { startBrowser } from './browser.ts'
import { everyScreen } from './every-screen.ts'
import { hostileText, seedHostileText } from './hostile-text.ts'
import { seedSandbox } from './seeded-sandbox.ts'
import { visit } from './visitor.ts'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const guidelines: RunOptions = {
  runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
  resultTypes: ['violations'],
}
const desk = { width: 1280, height: 860 }
const phone = { width: 375, height: 740 }

/** All that another theme can change. */
const contrast: RunOptions = {
  runOnly: { type: 'rule', values: ['color-contrast'] },
  resultTypes: ['violations'],
}

test('Every screen: axe finds nothing in either theme, no phone scrolls sideways, markup is text [decision.122]', async (context) => {
  const service = await startTestService(context)
  const { purser, mandates, agents } = await seedSandbox(service, Date.now(), { hours: 2 })
  await seedHostileText(purser)
  const find = async (status: 'denied' | 'paid') =>
    (await purser.transactions.list({ status, limit: 1 }).page()).items[0]?.id ?? ''
  const screens = everyScreen({
    agent: agents.research.id,
    mandate: mandates[0]?.id ?? '',
    denied: await find('denied'),
    paid: await find('paid'),
  })
  const browser = await startBrowser()
  context.after(() => browser.close())
  const visitor = await visit(browser, service, { colorScheme: 'light', viewport: desk })
  const { page } = visitor
  const found: string[] = []

  async function look(name: string): Promise<void> {
    await page.evaluate(axe)
    found.push(...(await violations(page, guidelines)).map((one) => `${name}: ${one}`))
    const live = await page.locator('img, iframe, object, script:not([src]), [onerror], [srcdoc]').count()
    if (live > 0) found.push(`${name}: ${live} elements that nobody here wrote`)
    await showTheme(page, 'dark')
    await settle(page)
    found.push(...(await violations(page, contrast)).map((one) => `${name}, dark: ${one}`))
    await page.setViewportSize(phone)
    await settle(page)
    const overhang = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
    if (overhang > 0) found.push(`${name}: a phone scrolls ${overhang} px sideways`)
    await page.setViewportSize(desk)
    await showTheme(page, 'light')
  }

  await page.goto(`${service.url}/console/`)
  await page.getByRole('button', { name: 'Sign in' }).waitFor()
  await look('sign-in')
  await visitor.signIn(service.sandboxKey)
  for (const screen of screens) {
    await visitor.go(screen.path)
    await screen.isReady(page)
    await screen.prepare?.(page)
    await look(screen.name)
  }
  assert.deepEqual(found, [])

  // The markup was there to be seen, and did nothing: neither a dialog nor a refusal of the policy.
  for (const path of ['mandates', 'transactions', 'agents', 'sellers', 'keys']) {
    await visitor.go(`sandbox/${path}`)
    await page.getByText(hostileText.script).first().waitFor()
  }
  await visitor.leave()
})

test('A style of a stranger, and a request to another host, would not go unnoticed [decision.122]', async (context) => {
  const service = await startTestService(context)
  const browser = await startBrowser()
  context.after(() => browser.close())
  for (const misdeed of [
    () =>
      document.head.append(
        Object.assign(document.createElement('style'), { textContent: 'p { color: red }' }),
      ),
    () => document.body.insertAdjacentHTML('beforeend', '<p style="color: red">loud</p>'),
    () => void fetch('http://127.0.0.1:9/').catch(() => undefined),
    () => alert('script'),
  ]) {
    const visitor = await visit(browser, service)
    await visitor.page.goto(`${service.url}/console/`)
    await visitor.page.evaluate(misdeed)
    await visitor.page.getByRole('button', { name: 'Sign in' }).waitFor()
    await assert.rejects(visitor.leave(), { name: 'AssertionError' }, String(misdeed))
  }
})

async function violations(page: Page, options: RunOptions): Promise<string[]> {
  const results = await page.evaluate(
    (options) =>
      (globalThis as unknown as { axe: { run: (options: RunOptions) => Promise<AxeResults> } }).axe.run(
        options,
      ),
    options,
  )
  return results.violations.map(({ id, nodes }) => `${id} at ${nodes.map(({ html }) => html).join(' ')}`)
}

/** As the button of the sidebar does, which a dialog may cover. */
async function showTheme(page: Page, theme: 'light' | 'dark'): Promise<void> {
  await page.evaluate((theme) => {
    document.documentElement.dataset['theme'] = theme
  }, theme)
}

/** What changes in steps has come to its end, and was drawn. */
async function settle(page: Page): Promise<void> {
  await page.evaluate(async () => {
    await new Promise((resolve) => void requestAnimationFrame(resolve))
    const finite = document
      .getAnimations()
      .filter(({ effect }) => effect?.getTiming().iterations !== Infinity)
    await Promise.allSettled(finite.map(({ finished }) => finished))
    await new Promise((resolve) => void requestAnimationFrame(resolve))
  })
}

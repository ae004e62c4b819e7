import assert from 'node:assert/strict'

import type { Browser, BrowserContextOptions, Page } from 'playwright-core'

import type { TestService } from '../../service/testing/service.ts'
import { overlay } from './accessibility.ts'

/** Somebody at a browser of his own, and what must not have happened there. */
export interface Visitor {
  readonly page: Page
  /** Goes to a screen of the console by its address, such as `sandbox/mandates`. */
  readonly go: (screen: string) => Promise<void>
  /** Goes to a screen as its links do, in less time: within the loaded page, where the visitor is signed in. */
  readonly show: (screen: string) => Promise<void>
  /** Signs in with a key, and waits for the overview. */
  readonly signIn: (key: string) => Promise<void>
  /** Asserts that no page broke, nothing was refused by the Content-Security-Policy, and nobody else was asked. */
  readonly leave: () => Promise<void>
}

/** How long a test waits for what a person would see at once: tests also run where much else is running. */
const patienceMs = 30_000

export async function visit(
  browser: Browser,
  service: Pick<TestService, 'url'>,
  {
    otherSite,
    ...options
  }: BrowserContextOptions & {
    /** Where the visitor may go besides: an identity provider, a forger. */
    readonly otherSite?: string
  } = {},
): Promise<Visitor> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 860 },
    locale: 'en-GB',
    timezoneId: 'UTC',
    reducedMotion: 'reduce',
    ...options,
  })
  const page = await context.newPage()
  page.setDefaultTimeout(patienceMs)
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(`error: ${error.message}`))
  page.on('dialog', (dialog) => {
    // A half-filled form asks before it is left.
    if (dialog.type() === 'beforeunload') return void dialog.accept()
    faults.push(`dialog: ${dialog.message()}`)
    return void dialog.dismiss()
  })
  page.on('console', (message) => {
    const isRefusedByPolicy = /content security policy/i.test(message.text())
    if (isRefusedByPolicy) faults.push(`console: ${message.text()}`)
  })
  page.on('request', (request) => {
    const { origin } = new URL(request.url())
    // What the pages of another site ask for is their own affair.
    const asker = request.isNavigationRequest() ? origin : new URL(request.frame().url()).origin
    if (origin !== service.url && asker !== otherSite) faults.push(`request: ${request.url()}`)
  })

  const go = async (screen: string) => {
    await page.goto(`${service.url}/console/${screen}`)
    await page.locator('h1').waitFor()
  }
  return {
    page,
    go,
    show: (screen) => showInPlace(page, screen),
    signIn: async (key) => {
      await page.goto(`${service.url}/console/`)
      await page.getByLabel('Owner or operator key').fill(key)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    },
    leave: async () => {
      await context.close()
      assert.deepEqual(faults, [])
    },
  }
}

/** Goes by a screen that shows nothing, so that nothing is left of the last one. */
async function showInPlace(page: Page, path: string): Promise<void> {
  const nothing = page.getByRole('heading', { level: 1, name: 'Not found' })
  if ((await page.locator(overlay).count()) > 0) {
    await page.keyboard.press('Escape')
    await page.locator(overlay).waitFor({ state: 'detached' })
  }
  await openInPlace(page, `${path.split(/[/?]/)[0]}/nowhere`)
  await nothing.waitFor()
  await openInPlace(page, path)
  if (!path.endsWith('/nowhere')) await nothing.waitFor({ state: 'detached' })
  await page.locator('h1').waitFor()
}

async function openInPlace(page: Page, path: string): Promise<void> {
  await page.evaluate((path) => {
    history.pushState(null, '', `/console/${path}`)
    dispatchEvent(new PopStateEvent('popstate'))
  }, path)
}

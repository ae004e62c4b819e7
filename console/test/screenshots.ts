import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import type { Browser, Page } from 'playwright-core'

import { signIn } from '../../service/testing/console-session.ts'
import { issueKey, startTestService, type TestService } from '../../service/testing/service.ts'
import { projectFolder } from '../../tools/source-files.ts'
import { startBrowser } from './browser.ts'
import { everyScreen, type ScreenStop } from './every-screen.ts'
import { seedSandbox } from './seeded-sandbox.ts'
import { addSpendingRules } from './spending-rules.ts'
import { visit } from './visitor.ts'
import { askForApproval } from './waiting-requests.ts'

/** Takes the pictures of docs/console: every screen in both themes and on a phone, over a believable sandbox. */
const folder = join(projectFolder, 'docs/console')

/** Dialogs and menus are shown once, in the light theme. */
const onlyLight = new Set([
  'search',
  'mandate-menu',
  'new-agent',
  'revoke-agent',
  'middleware',
  'new-key',
  'review-changes',
  'refund',
  'agent-budget',
  'undo',
  'not-found',
])

const looks = [
  { name: 'light', colorScheme: 'light', viewport: { width: 1280, height: 860 } },
  { name: 'dark', colorScheme: 'dark', viewport: { width: 1280, height: 860 } },
  {
    name: 'phone',
    colorScheme: 'light',
    viewport: { width: 390, height: 844 },
    isMobile: true,
    hasTouch: true,
  },
] as const

/** The files that were written; what is there besides is of an older run. */
const taken = new Set<string>()

const endings: (() => Promise<void>)[] = []
const life = { after: (stop: () => Promise<void>) => void endings.push(stop) }
try {
  mkdirSync(folder, { recursive: true })
  const browser = await startBrowser()
  endings.push(() => browser.close())
  await pictureFullConsole(browser, await startTestService(life))
  await pictureEmptyConsole(browser, await startTestService(life))
  for (const file of readdirSync(folder)) if (!taken.has(file)) rmSync(join(folder, file))
} finally {
  for (const end of endings.toReversed()) await end()
}

async function pictureFullConsole(browser: Browser, service: TestService): Promise<void> {
  const { purser, mandates, agents } = await seedSandbox(service, Date.now())
  await signIn(service, await issueKey(service, { role: 'owner', label: 'finance' }))
  const denials = await purser.transactions.list({ status: 'denied', limit: 200 }).toArray({ limit: 200 })
  const payments = await purser.transactions.list({ status: 'paid', limit: 1 }).page()
  const { payment, increase } = await askForApproval(service, agents.research)
  const rules = await addSpendingRules(service, agents.research)
  const screens = everyScreen({
    agent: agents.research.id,
    mandate: mandates[0]?.id ?? '',
    denied: denials.find(({ reason_code }) => reason_code === 'total_budget_exceeded')?.id ?? '',
    paid: payments.items[0]?.id ?? '',
    approval: payment.id,
    increase: increase.id,
    limited: rules.mandate.id,
    budget: rules.budget.id,
    overLimit: rules.denialId,
  })
  for (const { name: look, ...options } of looks) {
    const { page, ...visitor } = await visit(browser, service, options)
    await page.goto(`${service.url}/console/`)
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    await picture(page, `sign-in-${look}`)
    await visitor.signIn(service.sandboxKey)
    for (const screen of screens.filter(({ name }) => look === 'light' || !onlyLight.has(name))) {
      await stopAt(page, service, screen)
      await picture(page, `${screen.name}-${look}`)
    }
    await visitor.leave()
  }
  await purser.console.stop()
  const { page, ...visitor } = await visit(browser, service, looks[0])
  await visitor.signIn(service.sandboxKey)
  await page.getByText('Agents are stopped.').waitFor()
  await picture(page, 'stopped-light')
  await visitor.leave()
}

async function pictureEmptyConsole(browser: Browser, service: TestService): Promise<void> {
  service.clock.nowMs = Date.now()
  for (const { name: look, ...options } of looks) {
    const { page, ...visitor } = await visit(browser, service, options)
    await visitor.signIn(service.productionKey)
    await page.getByText('Nothing is set up yet.').waitFor()
    await picture(page, `production-${look}`)
    await visitor.leave()
    const { page: fresh, ...guest } = await visit(browser, service, options)
    await guest.signIn(service.sandboxKey)
    await fresh.getByRole('heading', { name: 'Your first purchase' }).waitFor()
    await picture(fresh, `first-purchase-${look}`)
    await guest.leave()
  }
}

async function stopAt(page: Page, service: TestService, screen: ScreenStop): Promise<void> {
  await page.goto(`${service.url}/console/${screen.path}`)
  await screen.isReady(page)
  await screen.prepare?.(page)
}

/** What the window shows, as WebP: a third of the size of a PNG. */
async function picture(page: Page, name: string): Promise<void> {
  await page.evaluate(async () => {
    await document.fonts.ready
    await new Promise((resolve) => void requestAnimationFrame(() => requestAnimationFrame(resolve)))
  })
  const session = await page.context().newCDPSession(page)
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 64 })
  await session.detach()
  taken.add(`${name}.webp`)
  writeFileSync(join(folder, `${name}.webp`), Buffer.from(data, 'base64'))
}

import type { Page } from 'playwright-core'

/** A screen, as the tests and the pictures go there. */
export interface ScreenStop {
  readonly name: string
  /** Its address below `/console/`. */
  readonly path: string
  /** What is there once it is complete. */
  readonly isReady: (page: Page) => Promise<unknown>
  /** What is done there before it is looked at: opening a dialog. */
  readonly prepare?: (page: Page) => Promise<unknown>
}

const table = (name: string) => (page: Page) => page.getByRole('table', { name }).waitFor()
const text = (words: string) => (page: Page) => page.getByText(words).first().waitFor()
const press = (name: string | RegExp) => (page: Page) => page.getByRole('button', { name }).first().click()

/** Every screen of the console, and every dialog, for a service that has something on each. */
export function everyScreen(ids: {
  readonly agent: string
  readonly mandate: string
  readonly denied: string
  readonly paid: string
  readonly approval: string
  readonly increase: string
  /** A mandate with limits, its shared budget, and a denial by a limit. */
  readonly limited: string
  readonly budget: string
  readonly overLimit: string
}): readonly ScreenStop[] {
  return [
    { name: 'overview', path: 'sandbox', isReady: text('Spent today') },
    {
      name: 'stop-all-agents',
      path: 'sandbox?stop',
      isReady: text('Type “stop” to confirm'),
    },
    {
      name: 'search',
      path: 'sandbox',
      isReady: text('Spent today'),
      prepare: async (page) => {
        await page.keyboard.press('Control+k')
        await page.keyboard.type('ma')
        await page.getByRole('option', { name: /map-crawler/ }).waitFor()
      },
    },
    { name: 'mandates', path: 'sandbox/mandates', isReady: table('Mandates') },
    {
      name: 'mandate-menu',
      path: 'sandbox/mandates',
      isReady: table('Mandates'),
      prepare: async (page) => {
        await press('Actions for Map tiles, northern Europe')(page)
        await page.getByRole('menuitem', { name: 'Duplicate' }).waitFor()
      },
    },
    {
      name: 'new-mandate',
      path: `sandbox/mandates/new?like=${ids.mandate}`,
      isReady: (page) => page.getByLabel('Purpose').waitFor(),
      prepare: async (page) => {
        await page.getByLabel('Allowed sellers').fill('*')
        await page.getByLabel('Cap per payment').fill('5000.00')
      },
    },
    { name: 'mandate', path: `sandbox/mandates/${ids.mandate}`, isReady: table('Transactions') },
    {
      name: 'mandate-limits',
      path: `sandbox/mandates/${ids.limited}`,
      isReady: text('Counted separately for each seller'),
      prepare: async (page) => {
        await page.getByText(/^Version 1, /).click()
        await page.evaluate(() => scrollTo(0, 0))
      },
    },
    {
      name: 'edit-mandate',
      path: `sandbox/mandates/${ids.limited}/edit`,
      isReady: text('It pays at most 20.00 USDC and 5 payments in a day'),
      prepare: async (page) => {
        await page.getByLabel('Cap per payment').fill('8.75')
        await press('Try on past decisions')(page)
        await text('Would have been denied')(page)
        await page
          .getByText(/^[0-9]+ examples?$/)
          .first()
          .scrollIntoViewIfNeeded()
      },
    },
    {
      name: 'review-changes',
      path: `sandbox/mandates/${ids.limited}/edit`,
      isReady: text('It pays at most 20.00 USDC and 5 payments in a day'),
      prepare: async (page) => {
        await page.getByLabel('Total budget').fill('300.00')
        await page.getByLabel('Allowed sellers').fill('api.papers.example, data.weather.example')
        await press('Review changes')(page)
        await text('allows more')(page)
      },
    },
    { name: 'budgets', path: 'sandbox/budgets', isReady: text('The budgets below it add up to') },
    {
      name: 'budget',
      path: `sandbox/budgets/${ids.budget}`,
      isReady: table('Mandates below this budget'),
    },
    {
      name: 'over-limit',
      path: `sandbox/transactions/${ids.overLimit}`,
      isReady: text('of at most 20.00 USDC in a day'),
    },
    { name: 'transactions', path: 'sandbox/transactions', isReady: table('Transactions') },
    { name: 'denial', path: `sandbox/transactions/${ids.denied}`, isReady: text('The nine checks') },
    { name: 'payment', path: `sandbox/transactions/${ids.paid}`, isReady: text('The nine checks') },
    {
      name: 'refund',
      path: `sandbox/transactions/${ids.paid}?refund`,
      isReady: text('which is what is left of the payment'),
    },
    {
      name: 'approvals',
      path: 'sandbox/approvals',
      isReady: (page) => page.getByRole('article', { name: /reports\.energy\.example/ }).waitFor(),
    },
    { name: 'approval', path: `sandbox/approvals/${ids.approval}`, isReady: text('are left in the mandate') },
    { name: 'increase', path: `sandbox/approvals/${ids.increase}`, isReady: table('Terms before and after') },
    { name: 'agents', path: 'sandbox/agents', isReady: table('Agents') },
    {
      name: 'new-agent',
      path: 'sandbox/agents?new',
      isReady: (page) => page.getByLabel('Capabilities').waitFor(),
    },
    { name: 'agent', path: `sandbox/agents/${ids.agent}`, isReady: table('Mandates of this agent') },
    {
      name: 'agent-budget',
      path: `sandbox/agents/${ids.agent}`,
      isReady: table('Mandates of this agent'),
      prepare: async (page) => {
        await press('Change budget')(page)
        await text('Earlier payments keep counting')(page)
      },
    },
    {
      name: 'revoke-agent',
      path: `sandbox/agents/${ids.agent}`,
      isReady: table('Mandates of this agent'),
      prepare: press('Revoke'),
    },
    { name: 'sellers', path: 'sandbox/sellers', isReady: table('Sellers') },
    {
      name: 'middleware',
      path: 'sandbox/sellers',
      isReady: table('Sellers'),
      prepare: press('Middleware'),
    },
    { name: 'keys', path: 'sandbox/keys', isReady: table('Keys') },
    { name: 'new-key', path: 'sandbox/keys?new', isReady: (page) => page.getByLabel('Label').waitFor() },
    { name: 'sessions', path: 'sandbox/sessions', isReady: table('Sessions') },
    { name: 'audit-log', path: 'sandbox/audit-log', isReady: table('Audit log') },
    { name: 'developers', path: 'sandbox/developers', isReady: text('Base address') },
    { name: 'system', path: 'sandbox/system', isReady: text('Operations waiting') },
    {
      name: 'undo',
      path: 'sandbox/mandates',
      isReady: table('Mandates'),
      prepare: async (page) => {
        await press('Actions for Map tiles, northern Europe')(page)
        await page.getByRole('menuitem', { name: /Pause|Resume/ }).click()
        await page.getByRole('button', { name: 'Undo' }).waitFor()
      },
    },
    { name: 'not-found', path: 'sandbox/nowhere', isReady: text('Page not found') },
  ]
}

import type { Page } from 'playwright-core'

import type { ScreenStop } from './every-screen.ts'
import { chooseFromMenu } from './menu.ts'

const text = (words: string | RegExp) => (page: Page) =>
  page.getByText(words).filter({ visible: true }).first().waitFor()
const press = (name: string | RegExp) => (page: Page) =>
  page.getByRole('main').getByRole('button', { name }).first().click()
const heading = (name: string) => (page: Page) => page.getByRole('heading', { level: 1, name }).waitFor()

/** What the screens of a service that has something on each show besides: dialogs, opened parts, faults of forms. */
export function everyFurtherState(ids: {
  readonly agent: string
  readonly mandate: string
  readonly paid: string
  /** The ending of a key that works. */
  readonly keyHint: string
}): readonly ScreenStop[] {
  return [
    {
      name: 'search that finds nothing',
      path: 'sandbox',
      isReady: text('Spent today'),
      prepare: async (page) => {
        await page.keyboard.press('/')
        await page.keyboard.type('no such words')
        await text('No results.')(page)
      },
    },
    {
      name: 'revoking a mandate',
      path: 'sandbox/mandates',
      isReady: heading('Mandates'),
      prepare: async (page) => {
        await chooseFromMenu(page, 'Map tiles, northern Europe', 'Revoke…')
        await text('Type “revoke” to confirm')(page)
      },
    },
    {
      name: 'no mandate that fits',
      path: 'sandbox/mandates?q=nothing',
      isReady: text('No mandates match your filters'),
    },
    {
      name: 'a form that is not complete',
      path: 'sandbox/mandates/new',
      isReady: text('every payment will be denied'),
      prepare: async (page) => {
        await press('Create mandate')(page)
        await text('Choose the agent that may spend.')(page)
      },
    },
    {
      name: 'a form with a limit that is not complete',
      path: 'sandbox/mandates/new',
      isReady: text('every payment will be denied'),
      prepare: async (page) => {
        await page.getByText('More rules').last().click()
        await press('Add a limit over time')(page)
        await press('Create mandate')(page)
        await text('Enter a max amount, a max number of payments, or both.')(page)
      },
    },
    {
      name: 'a new mandate tried on the history of another one',
      path: 'sandbox/mandates/new',
      isReady: text('every payment will be denied'),
      prepare: async (page) => {
        await page.getByText('try these terms on the history of another mandate').click()
        await page.getByLabel('Mandate with a history').selectOption(ids.mandate)
        await text('Which past decisions of')(page)
      },
    },
    {
      name: 'a refund that is too high',
      path: `sandbox/transactions/${ids.paid}?refund`,
      isReady: text('which is what is left of the payment'),
      prepare: (page) => page.getByLabel('Amount (USDC)').fill('999.00'),
    },
    {
      name: 'a new budget',
      path: 'sandbox/budgets?new',
      isReady: text('Cannot be changed later.'),
    },
    {
      name: 'a transaction as JSON',
      path: `sandbox/transactions/${ids.paid}`,
      isReady: text('The nine checks'),
      prepare: (page) => page.getByText('Show the JSON').click(),
    },
    {
      name: 'no transaction that fits',
      path: 'sandbox/transactions?merchant_domain=nowhere.example&status=paid',
      isReady: text('No transactions match your filters'),
    },
    {
      name: 'a new seller whose domain is none',
      path: 'sandbox/sellers?new',
      isReady: text('Register seller'),
      prepare: async (page) => {
        await page.getByLabel('Name').fill('Nowhere')
        await page.getByLabel('Domain').fill('no domain')
        await page.getByRole('button', { name: 'Register seller' }).click()
        await page.locator('[aria-invalid="true"]').waitFor()
      },
    },
    {
      name: 'revoking a key',
      path: 'sandbox/keys',
      isReady: heading('Keys'),
      prepare: async (page) => {
        await chooseFromMenu(page, ids.keyHint, 'Revoke…')
        await text('to confirm')(page)
      },
    },
    {
      name: 'an event with its details',
      path: 'sandbox/audit-log?type=mandate.created',
      isReady: heading('Audit log'),
      prepare: (page) => page.getByText('Show', { exact: true }).first().click(),
    },
    {
      name: 'no event that fits',
      path: 'sandbox/audit-log?subject_id=nothing',
      isReady: text('No events match your filters'),
    },
    {
      name: 'approvals with a filter that does not work',
      path: 'sandbox/approvals?status=foo',
      isReady: text('This filter does not work'),
    },
    ...['mandates', 'transactions', 'agents', 'approvals', 'budgets'].map((screen) => ({
      name: `${screen} of an id that is none`,
      path: `sandbox/${screen}/nothing`,
      isReady: text('It does not exist here'),
    })),
    // The last one, because Escape does not close it.
    {
      name: 'a key for an agent, shown once',
      path: `sandbox/agents/${ids.agent}`,
      isReady: text('Working keys'),
      prepare: async (page) => {
        await press('Issue a key')(page)
        await page.getByRole('button', { name: 'Issue sandbox key' }).click()
        await text('The key is issued.')(page)
      },
    },
  ]
}

/** Every screen of an account that has nothing yet, in both environments. */
export const everyEmptyScreen: readonly ScreenStop[] = [
  { name: 'empty overview', path: 'sandbox', isReady: text('Your first purchase') },
  { name: 'empty approvals', path: 'sandbox/approvals', isReady: text('No requests yet') },
  { name: 'empty budgets', path: 'sandbox/budgets', isReady: text('No shared budgets yet') },
  { name: 'empty mandates', path: 'sandbox/mandates', isReady: text('No mandates yet') },
  { name: 'empty transactions', path: 'sandbox/transactions', isReady: text('No transactions yet') },
  { name: 'empty agents', path: 'sandbox/agents', isReady: text('No agents yet') },
  { name: 'empty sellers', path: 'sandbox/sellers', isReady: text('No sellers yet') },
  { name: 'mandate without an agent', path: 'sandbox/mandates/new', isReady: text('no active agent yet') },
  { name: 'empty production', path: 'production', isReady: text('Your first mandate') },
  { name: 'empty production keys', path: 'production/keys', isReady: heading('Keys') },
]

import type { Locator, Page } from 'playwright-core'

/** What stands beside a name. */
export function factOf(page: Page, name: string): Locator {
  return page.locator('.fact', { has: page.getByText(name, { exact: true }) }).locator('dd')
}

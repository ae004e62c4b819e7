import { readFileSync } from 'node:fs'

import type { Page } from 'playwright-core'

/** The text that the button of the list of transactions downloads. */
export async function downloadCsv(page: Page): Promise<string> {
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Export as CSV' }).click(),
  ])
  return readFileSync(await download.path(), 'utf8')
}

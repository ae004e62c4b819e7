import type { Page } from 'playwright-core'

/** Chooses from the menu of what can be done with something; the menu's button carries its name. */
export async function chooseFromMenu(page: Page, name: string, item: string): Promise<void> {
  const literally = name.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`)
  const buttons = page.getByRole('button', { name: new RegExp(`(^| )${literally}$`) })
  await buttons.and(page.locator('[aria-haspopup="menu"]')).first().click()
  await page.getByRole('menuitem', { name: item }).click()
}

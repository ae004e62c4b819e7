import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

import type { AxeResults, RunOptions } from 'axe-core'
import type { Page } from 'playwright-core'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const guidelines: RunOptions = {
  runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
  resultTypes: ['violations'],
  // The selectors of elements, which nobody reads, take long to find.
  selectors: false,
  // No rule of these needs the stylesheets themselves.
  preload: false,
}
/** A theme changes nothing but colors. */
const colors: RunOptions = { ...guidelines, runOnly: ['color-contrast', 'link-in-text-block'] }
/** A phone has the colors of the desk. */
const shapes: RunOptions = { ...guidelines, rules: { 'color-contrast': { enabled: false } } }
const desk = { width: 1280, height: 860 }
const phone = { width: 375, height: 740 }

/** An open dialog or menu; a toast, which says that it is a dialog, is none. */
export const overlay = '[role="dialog"]:not(.toast), [role="menu"]'

/**
 * The accessibility faults of what a page shows now: all that axe reports in the light theme, in the dark one, and on a
 * phone, where the page must not scroll sideways either. While a dialog or menu is open, only that is checked in the dark
 * theme and on the phone. Afterwards the page has the light theme and its desktop size again.
 */
export async function findBarriers(page: Page): Promise<string[]> {
  const isThere = await page.evaluate(() => 'axe' in globalThis)
  if (!isThere) await page.evaluate(axe)
  await settle(page)
  const barriers = await violations(page, 'light', guidelines)
  await showTheme(page, 'dark')
  await settle(page)
  barriers.push(...(await violations(page, 'dark', colors, overlay)))
  await page.setViewportSize(phone)
  await settle(page)
  barriers.push(...(await violations(page, 'phone', shapes, overlay)))
  const overhang = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
  if (overhang > 0) barriers.push(`phone: scrolls ${overhang} px sideways`)
  await page.setViewportSize(desk)
  await showTheme(page, 'light')
  return barriers
}

/** What axe finds twice: on a busy machine the first look may come before a theme is drawn. */
async function violations(page: Page, look: string, options: RunOptions, part?: string): Promise<string[]> {
  const first = await runAxe(page, look, options, part)
  if (first.length === 0) return first
  await settle(page)
  const second = await runAxe(page, look, options, part)
  return first.filter((one) => second.includes(one))
}

/** Looks only at a part, if it is there. */
async function runAxe(page: Page, look: string, options: RunOptions, part?: string): Promise<string[]> {
  // The results are long and name elements that are fine too, so only the violations leave the page.
  const found = await page.evaluate(
    async ({ options, part }) => {
      const { axe } = globalThis as unknown as {
        axe: { run: (context: Document | string, options: RunOptions) => Promise<AxeResults> }
      }
      const isThere = part !== undefined && document.querySelector(part) !== null
      const { violations } = await axe.run(isThere ? part : document, options)
      return violations.map(
        ({ id, nodes }) => `${id} at ${nodes.map(({ html }) => html.slice(0, 200)).join(' ')}`,
      )
    },
    { options, part },
  )
  return found.map((one) => `${look}: ${one}`)
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

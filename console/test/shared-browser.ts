import { after } from 'node:test'

import type { Browser } from 'playwright-core'

import { startBrowser } from './browser.ts'

let shared: Promise<Browser> | undefined
after(async () => (await shared)?.close())

/** A browser that the tests of a process share; each visitor has cookies and a cache of his own in it. */
export function shareBrowser(): Promise<Browser> {
  shared ??= startBrowser()
  return shared
}

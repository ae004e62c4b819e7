import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Purser } from '@purser/client'
import type { Page } from 'playwright-core'

import { readCsv } from '../../service/testing/http/read-csv.ts'
import { startTestService } from '../../service/testing/service.ts'
import { shareTestService } from '../../service/testing/shared-service.ts'
import { downloadCsv } from './download.ts'
import { hostileText, seedHostileText, type HostileRecords } from './hostile-text.ts'
import { chooseFromMenu } from './menu.ts'
import { shareBrowser } from './shared-browser.ts'
import { visit } from './visitor.ts'

test('Text from others is shown as plain text on every screen and in the export', async (context) => {
  const service = await startTestService(context)
  service.clock.nowMs = Date.now()
  const records = await seedHostileText(service.url, service.sandboxKey)
  const visitor = await visit(await shareBrowser(), service)
  const { page } = visitor
  await visitor.signIn(records.key)
  const found: string[] = []
  for (const [path, prepare] of screensWith(records)) {
    await visitor.show(`sandbox${path}`)
    const place = (await prepare?.(page)) ?? page.getByRole('main').getByText(hostileText.script)
    // It is there, to the letter, beside the name of the account that stands on every screen.
    await place.filter({ hasText: hostileText.script, visible: true }).first().waitFor()
    await page.locator('.sidebar').getByText(hostileText.image).waitFor()
    const foreign = await page
      .locator(notOurs)
      .evaluateAll((elements) => elements.map((one) => one.outerHTML.slice(0, 200)))
    found.push(...foreign.map((html) => `${path}: ${html}`))
    const { title, language } = await page.evaluate(() => ({
      title: document.title,
      language: document.documentElement.lang,
    }))
    if (!title.endsWith('· sandbox · Purser') || language !== 'en') found.push(`${path}: ${title}`)
  }
  assert.deepEqual(found, [])

  await visitor.show('sandbox/transactions')
  await page.getByRole('table', { name: 'Transactions' }).waitFor()
  const exported = readCsv(await downloadCsv(page))
  const purser = new Purser({ apiKey: records.key, baseUrl: service.url })
  const all = await purser.transactions.list().toArray({ limit: 10 })
  assert.deepEqual(
    exported.map(({ merchant_domain, category }) => [merchant_domain, category]),
    all
      .map(({ merchant_domain, category }) => [`'${merchant_domain}`, category && `'${category}`])
      .map((row) => row.map((value) => value ?? '')),
  )
  for (const field of exported.flatMap((record) => Object.values(record)))
    assert.doesNotMatch(field, /^[=+\-@]/)
  // No dialog, no refusal of the policy, nobody else asked: had it ever been more than text.
  await visitor.leave()
})

test('A name of nothing but invisible characters can be seen and followed', async () => {
  const service = await shareTestService()
  service.clock.nowMs = Date.now()
  const purser = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url })
  const { id: agentId } = await purser.agents.create({ name: '\u200B' })
  await purser.mandates.create({
    agent_id: agentId,
    purpose: '\u3164 \n',
    max_spend_total: '1.00',
    max_spend_per_transaction: '1.00',
    metadata: { separator: ' ', quote: '"  ' },
    expires_at: '2099-01-01T00:00:00Z',
  })
  const visitor = await visit(await shareBrowser(), service)
  const { page } = visitor
  await visitor.signIn(service.sandboxKey)
  await visitor.show('sandbox/agents')
  await page.getByRole('link', { name: '[U+200B]' }).click()
  await page.getByRole('heading', { level: 1, name: '[U+200B]' }).waitFor()
  await visitor.show('sandbox/mandates')
  await page.getByRole('link', { name: '[U+3164][U+0020][U+000A]' }).click()
  await page.getByRole('heading', { level: 1, name: '[U+3164][U+0020][U+000A]' }).waitFor()
  await visitor.leave()
})

/** What no screen of ours has, and markup would bring. */
const notOurs = [
  'img, iframe, object, embed, base, style, script:not([src])',
  '[onerror], [onload], [srcdoc], form[action], a[href^="javascript" i], a[href*="evil"]',
].join(', ')

type Screen = readonly [path: string, prepare?: (page: Page) => Promise<ReturnType<Page['getByRole']>>]

/** Every place that shows what strangers wrote, dialogs and toasts included. */
function screensWith({ agent, mandate, denied, paid }: HostileRecords): readonly Screen[] {
  return [
    [''],
    ['', async (page) => page.getByRole('list', { name: 'Latest transactions' })],
    [
      '',
      async (page) => {
        await page.keyboard.press('/')
        await page.keyboard.type('<script>')
        return page.getByRole('option')
      },
    ],
    ['/mandates'],
    [
      '/mandates',
      async (page) => {
        await chooseFromMenu(page, hostileText.template, 'Revoke…')
        return page.getByRole('dialog')
      },
    ],
    [`/mandates/${mandate}`],
    [`/mandates/${mandate}`, async (page) => page.getByRole('table', { name: 'Open holds' })],
    [
      `/mandates/new?like=${mandate}`,
      async (page) => page.getByRole('region', { name: 'What it will allow' }),
    ],
    ['/transactions'],
    [`/transactions/${denied}`],
    [`/transactions/${denied}`, async (page) => page.getByRole('listitem', { name: 'Check 6' })],
    [
      `/transactions/${paid}`,
      async (page) => {
        await page.getByText('Show the JSON').click()
        return page.getByRole('region', { name: 'Record' })
      },
    ],
    ['/agents'],
    [`/agents/${agent}`],
    [`/agents/${agent}`, opensDialog('Issue a key')],
    [`/agents/${agent}`, opensDialog('Revoke')],
    ['/sellers'],
    ['/keys'],
    ['/keys?new', async (page) => page.getByLabel('Agent', { exact: true })],
    [
      '/audit-log?type=agent.created',
      async (page) => {
        await page.getByText('Show', { exact: true }).click()
        return page.getByRole('table', { name: 'Audit log' })
      },
    ],
    [
      '/developers',
      async (page) => {
        await page.getByRole('main').locator('select').selectOption('evaluate')
        return page.locator('pre')
      },
    ],
    [
      `/mandates/${mandate}`,
      async (page) => {
        await page.getByRole('button', { name: 'Pause' }).click()
        await page.getByRole('button', { name: 'Undo' }).waitFor()
        return page.locator('.toasts')
      },
    ],
  ]
}

function opensDialog(button: string): NonNullable<Screen[1]> {
  return async (page) => {
    await page.getByRole('main').getByRole('button', { name: button }).first().click()
    return page.getByRole('dialog')
  }
}

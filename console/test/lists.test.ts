import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Purser } from '@purser/client'

import { readCsv } from '../../service/testing/http/read-csv.ts'
import { issueProof, preparePurchase, startTestService, verifyProof } from '../../service/testing/service.ts'
import { shareTestService } from '../../service/testing/shared-service.ts'
import { downloadCsv } from './download.ts'
import { shareBrowser } from './shared-browser.ts'
import { storyOf } from './story.ts'
import { visit } from './visitor.ts'

const longList = 403

test('Lists: names, folded purchases, thousands of rows, sessions that end, and text that cannot mislead', async (context) => {
  const service = await startTestService(context)
  service.clock.nowMs = Date.now() - 3_600_000
  const purser = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url })
  const [ada, bob] = await Promise.all(
    ['ada', 'bob \u202Eevil'].map((name) => purser.agents.create({ name })),
  )
  assert.ok(ada && bob)
  const mandateOf = (agent_id: string, purpose: string) =>
    purser.mandates.create({
      agent_id,
      purpose,
      max_spend_total: '1000000.00',
      max_spend_per_transaction: '5.00',
      allowed_sellers: ['*'],
      expires_at: '2099-01-01T00:00:00Z',
    })
  const papers = await mandateOf(ada.id, 'Papers')
  const maps = await mandateOf(bob.id, 'Maps')
  const resource_url = 'https://api.example.com/a'
  const merchant_domain = 'api.example.com'
  const payment = { agent_id: ada.id, mandate_id: papers.id, resource_url, amount: '1.50' }
  await purser.policy.evaluate({ ...payment, merchant_domain })
  const proof = await purser.payments.requestProof(payment)
  assert.ok(proof.decision === 'approved')
  service.clock.nowMs += 2_000
  await purser.payments.verify({ proof: proof.proof, merchant_domain, expected_amount: '1.50' })
  await purser.policy.evaluate({ ...payment, agent_id: bob.id, mandate_id: maps.id, merchant_domain })

  const chapter = storyOf(context)
  const visitor = await visit(await shareBrowser(), service)
  const { page } = visitor
  const table = page.getByRole('table', { name: 'Transactions' })
  await visitor.signIn(service.sandboxKey)

  await chapter('The feed names agent and mandate, and bidi overrides are neutralized', async () => {
    const latest = page.getByRole('list', { name: 'Latest transactions' })
    await latest.getByText('bob [U+202E]evil · Maps').waitFor()
    await latest.getByText('ada · Papers').first().waitFor()
    assert.ok(!(await page.content()).includes('\u202E'))
  })

  await chapter('An approval and its payment are one row, which expands to both', async () => {
    await visitor.show('sandbox/transactions')
    await page.getByText('3 transactions in 2 rows').waitFor()
    const row = table.getByRole('row').filter({ hasText: 'Papers' })
    await row.getByRole('button', { name: 'approval' }).click()
    await page.getByText('approval of the payment above').waitFor()
    assert.equal(await table.getByRole('row').count(), 1 + 3)
    await row.first().getByRole('button', { name: 'approval' }).click()
    assert.equal(await table.getByRole('row').count(), 1 + 2)
  })

  await chapter(
    'Agent and mandate are columns and filters, and the export names them beside their ids',
    async () => {
      await page.getByLabel('Agent', { exact: true }).selectOption({ label: 'ada' })
      await page.getByText('2 transactions in 1 row').waitFor()
      assert.deepEqual(await page.getByLabel('Mandate', { exact: true }).locator('option').allInnerTexts(), [
        'Every mandate',
        'Papers',
      ])
      const [line] = readCsv(await downloadCsv(page))
      const columns = Object.keys(line ?? {})
      assert.equal(columns[columns.indexOf('agent_id') + 1], 'agent_name')
      assert.deepEqual([line?.['agent_name'], line?.['mandate_purpose']], ['ada', 'Papers'])
      await page.getByRole('button', { name: 'Remove the filter ada' }).click()
      await page.getByText('3 transactions in 2 rows').waitFor()
    },
  )

  await chapter('A refused export says why, instead of a download that failed', async () => {
    const downloads: unknown[] = []
    page.on('download', (download) => downloads.push(download))
    await page.route('**/v1/console/transactions*', (route) =>
      route.fulfill({ status: 429, json: { detail: 'rate_limited' } }),
    )
    await page.getByRole('link', { name: 'Export as CSV' }).click()
    const toast = page.locator('.toast', { hasText: 'Nothing was exported. Too many requests were sent.' })
    await toast.getByRole('button', { name: 'Dismiss' }).click()
    assert.deepEqual(downloads, [])
    await page.unrouteAll({ behavior: 'wait' })
    assert.equal(readCsv(await downloadCsv(page)).length, 3)
  })

  await chapter('Each screen names the time zone once, not with each time', async () => {
    for (const screen of ['', 'transactions', 'mandates/new', `mandates/${papers.id}`, 'system']) {
      await visitor.show(`sandbox/${screen}`)
      await page.getByText('Times are in UTC.').waitFor()
      assert.equal((await page.getByRole('main').innerText()).match(/\bUTC\b/g)?.length, 1, screen)
    }
  })

  await chapter(
    'A filter keeps every letter, however fast it is typed, and follows links and the back button',
    async () => {
      await visitor.show('sandbox/mandates')
      const field = page.getByLabel('Purpose contains')
      const letters = 'abcdefghijklmnopqrstuvwxyz'
      await field.pressSequentially(letters, { delay: 0 })
      assert.equal(await field.inputValue(), letters)
      await page.waitForURL(`**/mandates?q=${letters}`)
      assert.equal(await field.inputValue(), letters)
      await page.getByLabel('Status').selectOption('paused')
      await page.waitForURL(`**/mandates?q=${letters}&status=paused`)
      await page.getByText('No mandates match your filters').waitFor()
      const shown = async () => [await field.inputValue(), await page.getByLabel('Status').inputValue()]
      await page.getByRole('link', { name: 'Mandates', exact: true }).click()
      await page.getByRole('row', { name: /Papers/ }).waitFor()
      assert.deepEqual(await shown(), ['', ''])
      await page.goBack()
      await page.getByText('No mandates match your filters').waitFor()
      assert.deepEqual(await shown(), [letters, 'paused'])
    },
  )

  await chapter('After the palette closes, the focus returns, or moves to the chosen screen', async () => {
    await visitor.show('sandbox/mandates')
    const field = page.getByLabel('Purpose contains')
    await field.focus()
    await page.keyboard.press('Control+k')
    await page.getByRole('dialog', { name: 'Search and commands' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    const focused = page.locator(':focus')
    await field.and(focused).waitFor()
    await page.keyboard.press('Control+k')
    await page.keyboard.type('audit')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Audit log' }).waitFor()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await focused.and(page.locator('#content')).waitFor()
  })

  await chapter('An expired session says so, and keeps what was typed for the same account', async () => {
    await visitor.go('sandbox/mandates/new')
    await page.getByLabel('Purpose').fill('Half a sentence')
    await page.context().clearCookies()
    await page.getByText('Your session has ended.').waitFor()
    await page.getByLabel('Owner or operator key').fill(service.sandboxKey)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { level: 1, name: 'New mandate' }).waitFor()
    assert.equal(await page.getByLabel('Purpose').inputValue(), 'Half a sentence')
  })

  await chapter(
    'A form of a mandate that is left is kept until it is cancelled or started over',
    async () => {
      const purpose = page.getByLabel('Purpose')
      const wouldWarn = () =>
        page.evaluate(() => !dispatchEvent(new Event('beforeunload', { cancelable: true })))
      const open = async () => {
        await visitor.show('sandbox/mandates')
        await page.getByRole('link', { name: 'New mandate' }).click()
        await purpose.waitFor()
      }
      await open()
      await page.getByText('This is what you typed before').waitFor()
      await page.getByRole('button', { name: 'Start over' }).click()
      assert.equal(await purpose.inputValue(), '')
      assert.equal(await wouldWarn(), false)
      await purpose.fill('Another half')
      assert.equal(await wouldWarn(), true)
      await page.goBack()
      await page.getByRole('heading', { level: 1, name: 'Mandates' }).waitFor()
      assert.equal(await wouldWarn(), false)
      await page.goForward()
      await page.getByText('This is what you typed before').waitFor()
      assert.equal(await purpose.inputValue(), 'Another half')
      await page.getByRole('button', { name: 'Cancel' }).click()
      await page.getByRole('heading', { level: 1, name: 'Mandates' }).waitFor()
      await open()
      assert.equal(await purpose.inputValue(), '')
    },
  )

  await chapter(
    'In print and in forced colors nothing is missing, and only the screen is printed',
    async () => {
      await visitor.show('sandbox')
      await page.getByText('Spent today').waitFor()
      await page.emulateMedia({ media: 'print' })
      assert.equal(await page.getByRole('navigation', { name: 'Screens' }).isVisible(), false)
      assert.equal(await page.getByRole('button', { name: 'Stop all agents' }).isVisible(), false)
      await page.emulateMedia({ media: 'screen', forcedColors: 'active' })
      const colours = await page
        .locator('.chart-legend .legend-mark')
        .evaluateAll((marks) => marks.map((mark) => getComputedStyle(mark).background))
      assert.equal(new Set(colours).size, colours.length, colours.join())
      await page.emulateMedia({ forcedColors: 'none' })
    },
  )

  await chapter(`A list of ${longList} rows keeps few of them in the document, and prints all`, async () => {
    const made = longList - 3
    for (let start = 0; start < made; start += 500) {
      await Promise.all(
        Array.from({ length: Math.min(500, made - start) }, (_, index) =>
          purser.policy.evaluate({
            ...payment,
            merchant_domain: `s${start + index}.example`,
            amount: '9.00',
          }),
        ),
      )
    }
    // A page as large as the service gives keeps the test short.
    await page.route('**/v1/console/transactions?*', (route) => {
      const url = new URL(route.request().url())
      url.searchParams.set('limit', '200')
      return route.continue({ url: url.href })
    })
    await visitor.go('sandbox/transactions')
    await page.getByText('so far').waitFor()
    const count = page.locator('.table-more [role="status"]')
    for (let text = await count.innerText(); text.endsWith('so far'); text = await count.innerText()) {
      // By keyboard: rows that are measured while the mouse is down can move the button away from it.
      await page.getByRole('button', { name: 'Show more' }).press('Enter')
      await page.getByText(text, { exact: true }).waitFor({ state: 'detached' })
    }
    await page.getByText(`${longList.toLocaleString('en')} transactions in`).waitFor()
    const rows = () => page.locator('.data-table tbody tr:not(.table-spacer)').count()
    assert.ok((await rows()) < 150, `${await rows()} rows in the document`)
    await page.evaluate(() => scrollTo(0, 0))
    await table
      .getByText('s' + String(made - 1) + '.example')
      .or(table.getByRole('link').first())
      .first()
      .waitFor()
    const clicked = await page.evaluate(async () => {
      const startMs = performance.now()
      document.querySelector<HTMLElement>('.chip-remove, .fold')?.click()
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))
      return performance.now() - startMs
    })
    context.diagnostic(`a click took ${Math.round(clicked)} ms`)
    await page.emulateMedia({ media: 'print' })
    await page.locator('.data-table tbody tr').nth(350).waitFor({ state: 'attached' })
    await page.emulateMedia({ media: 'screen' })
    await page.locator('.data-table tbody tr').nth(350).waitFor({ state: 'detached' })
  })

  await chapter('More requested rows arrive, even if the list is refreshed in the meantime', async () => {
    await visitor.go('sandbox/transactions')
    await page.getByText('so far').waitFor()
    const asked = Promise.withResolvers<void>()
    const refreshed = Promise.withResolvers<void>()
    let isFirst = true
    await page.route('**/v1/console/transactions?*cursor=*', async (route) => {
      asked.resolve()
      if (isFirst) {
        isFirst = false
        await refreshed.promise
      }
      await route.fallback().catch(() => undefined)
    })
    const first = page.locator('.table-more [role="status"]')
    const text = await first.innerText()
    await page.getByRole('button', { name: 'Show more' }).press('Enter')
    await asked.promise
    // The service is away for a moment: when it answers again, everything is read again.
    const status = '**/v1/console/status*'
    await page.route(status, (route) => route.abort())
    await page.getByRole('region', { name: 'Connection' }).waitFor()
    await page.unroute(status)
    await page.getByRole('region', { name: 'Connection' }).waitFor({ state: 'detached' })
    refreshed.resolve()
    await page.getByText(text, { exact: true }).waitFor({ state: 'detached' })
  })

  await visitor.leave()
})

test('The lists of mandates, agents and payments show what others change', async () => {
  const service = await shareTestService()
  const purser = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url })
  const purchase = await preparePurchase(service)
  const { agentId, mandateId } = purchase
  const visitor = await visit(await shareBrowser(), service)
  const { page } = visitor
  await visitor.signIn(service.sandboxKey)
  await page.clock.install()
  await visitor.go('sandbox/mandates')
  const mandate = page.getByRole('row', { name: /Buy research data/ })
  await mandate.getByText('active').waitFor()
  await purser.mandates.pause(mandateId)
  await page.clock.fastForward(15_000)
  await mandate.getByText('paused').waitFor()
  // So do the payments of a mandate, next to its figures.
  await purser.mandates.resume(mandateId)
  await visitor.show(`sandbox/mandates/${mandateId}`)
  await page.getByText('No requests for this mandate yet.').waitFor()
  await verifyProof(service, await issueProof(service, purchase))
  await page.clock.fastForward(15_000)
  await page.getByText('1 transaction', { exact: true }).waitFor()
  await visitor.show('sandbox/agents')
  const agent = page.getByRole('row', { name: /research-bot/ })
  await agent.getByText('active').waitFor()
  await purser.agents.revoke(agentId)
  await page.clock.fastForward(15_000)
  await agent.getByText('revoked').waitFor()
  await visitor.leave()
})

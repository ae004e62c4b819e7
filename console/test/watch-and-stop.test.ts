import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'

import { Purser, type Transaction } from '@purser/client'

import { createTenant, startTestService } from '../../service/testing/service.ts'
import { startBrowser } from './browser.ts'
import { seedSandbox } from './seeded-sandbox.ts'
import { storyOf } from './story.ts'
import { visit } from './visitor.ts'

test('An ordinary day: a denial is read, the list is exported, everything is stopped', async (context) => {
  const service = await startTestService(context)
  const { purser, mandates } = await seedSandbox(service, Date.now())
  const chapter = storyOf(context)
  const browser = await startBrowser()
  context.after(() => browser.close())
  const visitor = await visit(browser, service)
  const { page } = visitor
  const everything = await purser.transactions.list({ limit: 200 }).toArray({ limit: 10_000 })

  await chapter('The overview says what is gone, exactly', async () => {
    await visitor.signIn(service.sandboxKey)
    const midnightMs = new Date().setUTCHours(0, 0, 0, 0)
    const today = everything.filter(
      ({ status, created_at }) => status === 'paid' && Date.parse(created_at) >= midnightMs,
    )
    const cents = today.reduce((sum, { amount }) => sum + BigInt(amount.replace('.', '')), 0n)
    const expected = `${cents / 100n}.${String(cents % 100n).padStart(2, '0')}`
    const tile = page.locator('.tile', { hasText: 'Spent today' })
    await tile.getByText(expected).waitFor()
    await tile.getByText(`${today.length} payments`).waitFor()
  })

  await context.test(
    'A denial is found by its reason, and its ladder says which check failed and why',
    async () => {
      await page.getByRole('link', { name: 'Over the total budget' }).click()
      await page.waitForURL(/status=denied&reason_code=total_budget_exceeded$/)
      const table = page.getByRole('table', { name: 'Transactions' })
      await table.waitFor()
      const rows = await table.getByRole('row').count()
      assert.ok(rows > 1)
      await table.getByRole('link').first().click()
      const failed = page.getByRole('listitem', { name: 'Check 9' })
      await failed.getByText('failed').waitFor()
      const denial = everything.find(({ id }) => page.url().endsWith(id))
      assert.equal(denial?.reason_code, 'total_budget_exceeded')
      const values = await failed.locator('code').innerText()
      assert.match(values, new RegExp(`^[0-9.]+ \\+ .*${denial?.amount.replace('.', '\\.')} > [0-9.]+$`))
      for (const check of [1, 2, 3, 4, 5, 6, 8]) {
        assert.match(await page.getByRole('listitem', { name: `Check ${check}` }).innerText(), /passed/)
      }
    },
  )

  await chapter('The overview is usable within a second of going there [decision.120]', async () => {
    const visitsMs: number[] = []
    for (let visits = 0; visits < 5; visits++) {
      await page.goto(`${service.url}/console/sandbox`)
      await page.locator('.tile', { hasText: 'Spent today' }).waitFor()
      visitsMs.push(await page.evaluate(() => performance.now()))
    }
    // The best of five: what else the machine does is not the console's.
    context.diagnostic(`usable after ${visitsMs.map(Math.round).join(', ')} ms`)
    assert.ok(Math.min(...visitsMs) < 1_000, `${visitsMs.map(Math.round).join(', ')} ms`)
  })

  await chapter('A filter stands in the address, and going back brings the list back', async () => {
    await visitor.go('sandbox/mandates?status=paused')
    const table = page.getByRole('table', { name: 'Mandates' })
    await table.getByRole('link', { name: 'Photos for the travel report' }).click()
    await page.getByRole('heading', { level: 1, name: 'Photos for the travel report' }).waitFor()
    await page.goBack()
    await table.waitFor()
    assert.equal(await page.getByLabel('Status').inputValue(), 'paused')
    assert.equal(await table.getByRole('row').count(), 2)
    await page.getByLabel('Purpose contains').fill('no such words')
    await page.getByText('No mandate fits').waitFor()
    assert.match(page.url(), /q=no\+such\+words/)
  })

  await chapter('The export is the database: every transaction, each field', async () => {
    await visitor.go('sandbox/transactions')
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Export as CSV' }).click(),
    ])
    const [head = [], ...lines] = readCsv(readFileSync(await download.path(), 'utf8'))
    const exported = lines.map((line) =>
      Object.fromEntries(head.map((name, column) => [name, line[column] ?? ''])),
    )
    const expected = everything.map((one) =>
      Object.fromEntries(
        Object.entries(one satisfies Transaction).map(([name, value]) => [name, value ?? '']),
      ),
    )
    assert.deepEqual(exported, expected)
  })

  await chapter('The palette goes anywhere by typing', async () => {
    await page.keyboard.press('/')
    await page.keyboard.type('heat pumps')
    await page.getByRole('option', { name: /Papers on heat pumps/ }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Papers on heat pumps' }).waitFor()
    await page.keyboard.press('Control+k')
    await page.keyboard.type('audit')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Audit log' }).waitFor()
  })

  await chapter('The keyboard alone reaches the content, and the chosen theme stays', async () => {
    await visitor.go('sandbox')
    await page.keyboard.press('Tab')
    assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'Skip to the content')
    await page.keyboard.press('Enter')
    assert.equal(await page.evaluate(() => document.activeElement?.id), 'content')
    const theme = () => page.evaluate(() => document.documentElement.dataset['theme'])
    assert.equal(await theme(), 'light')
    await page.getByRole('button', { name: 'Change to the dark theme' }).click()
    assert.equal(await theme(), 'dark')
    await page.reload()
    assert.equal(await theme(), 'dark')
  })

  await chapter('A screen whose files are gone says so, and the way to the others stays', async () => {
    await visitor.go('sandbox')
    await page.route('**/assets/developers-*.js', (route) => route.fulfill({ status: 404 }))
    await page.getByRole('link', { name: 'Developers' }).click()
    await page.getByText('This screen could not be shown.').waitFor()
    await page.getByRole('link', { name: 'Agents' }).click()
    await page.getByRole('heading', { level: 1, name: 'Agents' }).waitFor()
    await page.unroute('**/assets/developers-*.js')
  })

  await chapter('Stop all agents: the next payment is refused; resuming takes it back', async () => {
    const [weather] = mandates
    assert.ok(weather)
    const payment = {
      agent_id: weather.agent_id,
      mandate_id: weather.id,
      amount: '1.00',
      resource_url: 'https://data.weather.example/stations/1',
    }
    const before = await purser.payments.requestProof(payment)
    assert.ok(before.decision === 'approved')
    await visitor.go('sandbox')
    await page.getByRole('button', { name: 'Stop all agents' }).click()
    const dialog = page.getByRole('dialog', { name: 'Stop all agents?' })
    const confirm = dialog.getByRole('button', { name: 'Stop all agents' })
    assert.equal(await confirm.isDisabled(), true)
    await dialog.getByLabel(/to confirm/).fill('stop')
    await confirm.click()
    await page.getByText('Agents are stopped.').waitFor()

    const refused = await purser.payments.requestProof(payment)
    assert.equal(refused.decision, 'denied')
    const late = await purser.payments.verify({
      proof: before.proof,
      merchant_domain: 'data.weather.example',
      expected_amount: '1.00',
    })
    assert.deepEqual(late, { verified: false, reason: 'proof_expired' })

    await page.getByRole('button', { name: 'Resume what was stopped' }).click()
    await page.getByText('Agents are stopped.').waitFor({ state: 'detached' })
    assert.equal((await purser.payments.requestProof(payment)).decision, 'approved')
    // What its owner had paused before the stop stays paused.
    assert.equal((await purser.mandates.get(mandates[5]?.id ?? '')).status, 'paused')
  })

  await chapter('An agent is revoked by typing its name, after it is said what that stops', async () => {
    await visitor.go('sandbox/agents')
    await page.getByRole('link', { name: 'map-crawler' }).click()
    await page.getByRole('button', { name: 'Revoke' }).click()
    await page.getByText('2 active mandates, of which').waitFor()
    await page.getByLabel(/to confirm/).fill('map-crawler')
    await page.getByRole('button', { name: 'Revoke for good' }).click()
    await page.getByRole('heading', { level: 1 }).getByText('revoked').waitFor()
  })

  await visitor.leave()

  await chapter('Another tenant sees nothing of it', async () => {
    const { sandboxKey } = await createTenant(service)
    const stranger = await visit(browser, service)
    await stranger.signIn(sandboxKey)
    await stranger.page.getByRole('heading', { name: 'Your first purchase' }).waitFor()
    for (const [screen, words] of [
      ['sandbox/mandates', 'No mandate yet'],
      ['sandbox/transactions', 'No transaction yet'],
      ['sandbox/agents', 'No agent yet'],
      ['sandbox/sellers', 'No seller yet'],
      [`sandbox/mandates/${mandates[0]?.id}`, 'It does not exist here'],
      [`sandbox/transactions/${everything[0]?.id}`, 'It does not exist here'],
      [`sandbox/agents/${mandates[0]?.agent_id}`, 'It does not exist here'],
    ] as const) {
      await stranger.go(screen)
      await stranger.page.getByText(words).waitFor()
      assert.ok(!(await stranger.page.content()).includes('weather'), screen)
    }
    await stranger.leave()
    const other = new Purser({ apiKey: sandboxKey, baseUrl: service.url })
    assert.deepEqual(await other.transactions.list().toArray({ limit: 10 }), [])
  })
})

/** The lines of a CSV text (RFC 4180), each as its fields. */
function readCsv(text: string): string[][] {
  const lines: string[][] = [[]]
  for (const [, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|$)/g)) {
    const line = lines.at(-1)
    if (end === '' && quoted === undefined && plain === '' && line?.length === 0) break
    line?.push(quoted === undefined ? (plain ?? '') : quoted.replaceAll('""', '"'))
    if (end === '\r\n') lines.push([])
    if (end === '') break
  }
  return lines.filter((line) => line.length > 0)
}

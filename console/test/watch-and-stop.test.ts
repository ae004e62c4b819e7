import assert from 'node:assert/strict'
import { test } from 'node:test'

import { addAmounts, Purser, type NamedTransaction, type Transaction } from '@purser/client'
import type { Page } from 'playwright-core'

import { readCsv } from '../../service/testing/http/read-csv.ts'
import { serviceStores } from '../../service/testing/service-stores.ts'
import { createTenant, startTestService } from '../../service/testing/service.ts'
import { amountInWords } from '../src/text/amounts.ts'
import { downloadCsv } from './download.ts'
import { seedSandbox } from './seeded-sandbox.ts'
import { shareBrowser } from './shared-browser.ts'
import { storyOf } from './story.ts'
import { visit } from './visitor.ts'

for (const { name, missing, open } of serviceStores) {
  test(
    `On ${name}, an ordinary day: a payment is watched, a denial is read, the list is exported, everything is stopped`,
    { skip: missing ?? false },
    async (context) => {
      const ledger = await open()
      const service = await startTestService(context, ledger.settings)
      context.after(ledger.discard)
      const { purser, mandates } = await seedSandbox(service, Date.now())
      const [weather] = mandates
      assert.ok(weather)
      const chapter = storyOf(context)
      const browser = await shareBrowser()
      const visitor = await visit(browser, service)
      const { page } = visitor
      const everything = () => purser.console.transactions.list({ limit: 200 }).toArray({ limit: 10_000 })
      const payment = {
        agent_id: weather.agent_id,
        mandate_id: weather.id,
        amount: '1.23',
        resource_url: 'https://data.weather.example/stations/1',
      }
      const charge = { merchant_domain: 'data.weather.example', expected_amount: '1.23' }

      await chapter('The overview shows exactly what was spent', async () => {
        await visitor.signIn(service.sandboxKey)
        await assertSpentToday(page, await everything())
        const { nearest_budgets } = await purser.console.overview()
        const { buckets, previous } = await purser.console.spending({ period: '24h', time_zone: 'UTC' })
        const rows = page.getByRole('table', { name: 'Spending in the last 24 hours' }).locator('tbody tr')
        assert.deepEqual(
          await rows.locator('td').allInnerTexts(),
          buckets.flatMap(({ spent, paid_count, refunded_total, denied_count }, index) => [
            spent,
            previous.buckets[index] ?? '',
            String(paid_count),
            refunded_total,
            String(denied_count),
          ]),
        )
        const nearest = page.getByRole('region', { name: 'Budgets closest to their limit' })
        assert.deepEqual(
          await nearest.getByRole('listitem').getByRole('link').allInnerTexts(),
          nearest_budgets.map(({ purpose }) => purpose),
        )
        assert.equal(await nearest.getByRole('meter').count(), nearest_budgets.length)
      })

      await chapter('A payment appears at once, and the figures follow', async () => {
        await page.locator('.live-state', { hasText: 'Live' }).waitFor()
        const answer = await purser.payments.requestProof(payment)
        assert.ok(answer.decision === 'approved')
        assert.ok((await purser.payments.verify({ ...charge, proof: answer.proof })).verified)
        const latest = page.getByRole('list', { name: 'Latest transactions' }).getByRole('listitem').first()
        await latest.filter({ hasText: '1.23' }).filter({ hasText: 'paid' }).waitFor()
        await assertSpentToday(page, await everything())
      })

      await chapter(
        'A denial is found by its reason, and its ladder says which check failed and why',
        async () => {
          await page.getByRole('link', { name: 'Over the total budget' }).click()
          await page.waitForURL(/status=denied&reason_code=total_budget_exceeded&since=/)
          await page.getByRole('table', { name: 'Transactions' }).getByRole('link').first().click()
          const failed = page.getByRole('listitem', { name: 'Check 9' })
          await failed.getByText('failed').waitFor()
          const denial = (await everything()).find(({ id }) => page.url().endsWith(id))
          assert.equal(denial?.reason_code, 'total_budget_exceeded')
          const values = await failed.locator('code').innerText()
          assert.match(values, new RegExp(`^[0-9.]+ \\+ .*${denial?.amount.replace('.', '\\.')} > [0-9.]+$`))
          for (const check of [1, 2, 3, 4, 5, 6, 8]) {
            assert.match(await page.getByRole('listitem', { name: `Check ${check}` }).innerText(), /passed/)
          }
          await page.getByText('Show the JSON').click()
          const record = JSON.parse(
            await page.getByRole('region', { name: 'Record' }).locator('pre').innerText(),
          )
          assert.deepEqual(record, await purser.console.transactions.get(denial?.id ?? ''))
        },
      )

      await chapter('The export matches the database: every transaction, every field', async () => {
        await visitor.show('sandbox/transactions')
        assert.deepEqual(readCsv(await downloadCsv(page)), (await everything()).map(asText))
        await page.getByLabel('Status').selectOption('denied')
        await page.waitForURL(/status=denied$/)
        const denied = (await everything()).filter(({ status }) => status === 'denied')
        assert.deepEqual(readCsv(await downloadCsv(page)), denied.map(asText))
      })

      await chapter('Stop all agents: the next payment is refused, until they are resumed', async () => {
        const before = await purser.payments.requestProof(payment)
        assert.ok(before.decision === 'approved')
        await visitor.show('sandbox')
        await page.getByRole('button', { name: 'Stop all agents' }).click()
        const dialog = page.getByRole('dialog', { name: 'Stop all agents?' })
        const confirm = dialog.getByRole('button', { name: 'Stop all agents' })
        assert.equal(await confirm.isDisabled(), true)
        await dialog.getByLabel(/to confirm/).fill('stop')
        await confirm.click()
        await page.getByText('Agents are stopped.').waitFor()

        assert.equal((await purser.payments.requestProof(payment)).decision, 'denied')
        const late = await purser.payments.verify({ ...charge, proof: before.proof })
        assert.deepEqual(late, { verified: false, reason: 'proof_expired' })

        await page.getByRole('button', { name: 'Resume stopped mandates' }).click()
        await page.getByRole('dialog').getByRole('button', { name: 'Resume now' }).click()
        await page.getByText('Agents are stopped.').waitFor({ state: 'detached' })
        assert.equal((await purser.payments.requestProof(payment)).decision, 'approved')
        // What its owner had paused before the stop stays paused.
        assert.equal((await purser.mandates.get(mandates[5]?.id ?? '')).status, 'paused')
      })

      await visitor.leave()

      await chapter('Another tenant sees nothing of it', async () => {
        const { sandboxKey } = await createTenant(service)
        const stranger = await visit(browser, service)
        const [newest] = await everything()
        await stranger.signIn(sandboxKey)
        await stranger.page.getByRole('heading', { name: 'Your first purchase' }).waitFor()
        await stranger.page.getByText('Payments and denials appear here').waitFor()
        await purser.policy.evaluate({ ...payment, merchant_domain: 'data.weather.example' })
        for (const [screen, words] of [
          ['sandbox/mandates', 'No mandates yet'],
          ['sandbox/agents', 'No agents yet'],
          ['sandbox/sellers', 'No sellers yet'],
          ['sandbox/keys', 'All keys'],
          ['sandbox/audit-log', 'Signed in to the console'],
          ['sandbox/developers', 'Base address'],
          ['sandbox/system', 'Page not found'],
          [`sandbox/mandates/${weather.id}`, 'It does not exist here'],
          [`sandbox/mandates/new?like=${weather.id}`, 'It does not exist here'],
          [`sandbox/transactions/${newest?.id}`, 'It does not exist here'],
          [`sandbox/agents/${weather.agent_id}`, 'It does not exist here'],
          ['sandbox/transactions', 'No transactions yet'],
        ] as const) {
          // Only a page load tells a screen that is not there from the one that was not there before.
          await (screen === 'sandbox/system' ? stranger.go : stranger.show)(screen)
          await stranger.page.getByText(words).filter({ visible: true }).first().waitFor()
          const seen = await stranger.page.content()
          for (const own of ['weather', 'heat pumps', 'worker-1']) assert.ok(!seen.includes(own), screen)
        }
        assert.deepEqual(readCsv(await downloadCsv(stranger.page)), [])
        await stranger.page.keyboard.press('/')
        const [search] = await Promise.all([
          stranger.page.waitForResponse((answer) => answer.url().endsWith('/v1/console/search?q=weather')),
          stranger.page.keyboard.type('weather'),
        ])
        assert.deepEqual(await search.json(), [])
        await stranger.page.getByText('No results.').waitFor()
        await stranger.show('sandbox')
        await stranger.page.getByText('Payments and denials appear here').waitFor()
        await stranger.leave()
        const other = new Purser({ apiKey: sandboxKey, baseUrl: service.url })
        assert.deepEqual(await other.transactions.list().toArray({ limit: 10 }), [])
      })
    },
  )
}

/** The overview shows what these transactions add up to. */
async function assertSpentToday(page: Page, everything: readonly Transaction[]): Promise<void> {
  const midnightMs = new Date().setUTCHours(0, 0, 0, 0)
  const today = everything.filter(
    ({ status, created_at }) => status === 'paid' && Date.parse(created_at) >= midnightMs,
  )
  const total = today.reduce((sum, { amount }) => addAmounts(sum, amount), '0.00')
  const tile = page.locator('.tile', { hasText: 'Spent today' })
  const figure = new RegExp(`^${amountInWords(total).replaceAll('.', String.raw`\.`)}\\b`)
  await tile.getByText(figure).waitFor()
  await tile.getByText(`${today.length} payment`).waitFor()
}

function asText(transaction: NamedTransaction): Record<string, string> {
  return Object.fromEntries(Object.entries(transaction).map(([name, value]) => [name, cellOf(value)]))
}

function cellOf(value: string | number | object | null): string {
  if (typeof value !== 'object') return String(value)
  return Object.keys(value ?? {}).length === 0 ? '' : JSON.stringify(value)
}

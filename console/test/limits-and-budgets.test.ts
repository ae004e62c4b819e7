import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Purser } from '@purser/client'

import { shareTestService } from '../../service/testing/shared-service.ts'
import { shareBrowser } from './shared-browser.ts'
import { storyOf } from './story.ts'
import { visit } from './visitor.ts'

test('A daily cap fills and resets, a mandate is edited with before and after, and a frozen budget stops it', async (context) => {
  const service = await shareTestService()
  service.clock.nowMs = Date.now()
  const purser = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url })
  const agent = await purser.agents.create({ name: 'research-bot' })
  const visitor = await visit(await shareBrowser(), service)
  const { page } = visitor
  const chapter = storyOf(context)
  await visitor.signIn(service.sandboxKey)
  const dialog = page.getByRole('dialog')
  const idOf = () => new URL(page.url()).pathname.split('/').at(-1) ?? ''
  const level = (name: string) => page.getByRole('meter', { name }).getAttribute('aria-valuetext')
  let budgetId = ''
  let mandateId = ''
  const purchase = (amount: string) => ({
    agent_id: agent.id,
    mandate_id: mandateId,
    amount,
    resource_url: 'https://api.papers.example/1',
  })
  const evaluate = (amount: string) =>
    purser.policy.evaluate({ ...purchase(amount), merchant_domain: 'api.papers.example' })

  await chapter('A shared budget is created', async () => {
    await page.getByRole('link', { name: 'Budgets' }).click()
    await page.getByText('No shared budgets yet').waitFor()
    await page.getByRole('button', { name: 'New budget' }).first().click()
    await dialog.getByLabel('Name').fill('Climate desk')
    await dialog.getByRole('button', { name: 'Add a limit over time' }).click()
    await dialog.getByLabel('Period').selectOption('Each month')
    await dialog.getByRole('button', { name: 'Create budget' }).click()
    await dialog.getByText('Enter a max amount, a max number of payments, or both.').waitFor()
    await dialog.getByLabel('Max amount').fill('100.00')
    await dialog.getByRole('button', { name: 'Create budget' }).click()
    await page.getByRole('heading', { level: 1, name: 'Climate desk' }).waitFor()
    budgetId = idOf()
  })

  await chapter(
    'The form of a mandate has one section for further rules, and describes them in words',
    async () => {
      await visitor.show(`sandbox/mandates/new?agent=${agent.id}`)
      await page.getByLabel('Purpose').fill('Papers')
      await page.getByLabel('Total budget').fill('50.00')
      await page.getByLabel('Cap per payment').fill('10.00')
      await page.getByLabel('Allowed sellers').fill('api.papers.example')
      assert.equal(await page.getByLabel('Shared budget').isVisible(), false)
      await page.getByText('More rules').last().click()
      await page.getByRole('button', { name: 'Add a limit over time' }).click()
      await page.getByLabel('Time zone').fill('Europe/Berlin')
      await page.getByLabel('Max amount').fill('5.00')
      await page.getByLabel('Shared budget').selectOption({ value: budgetId })
      await page
        .getByText(
          'It pays at most 5.00 USDC in a day (Europe/Berlin). Its payments count in the shared budget Climate desk.',
        )
        .waitFor()
      await page.getByRole('button', { name: 'Create mandate' }).click()
      await page.getByRole('heading', { level: 1, name: 'Papers' }).waitFor()
      mandateId = idOf()
      assert.equal(await level('Daily limit of this mandate'), '0.00 of 5.00 USDC')
    },
  )

  await chapter('The cap fills, and a denial says what is committed and when it resets', async () => {
    assert.equal((await purser.payments.requestProof(purchase('4.00'))).decision, 'approved')
    await visitor.go(`sandbox/mandates/${mandateId}`)
    await page.getByText('4.00 of 5.00 USDC').waitFor()
    assert.equal(await level('Daily limit of this mandate'), '4.00 of 5.00 USDC')
    assert.equal(await level('Monthly limit of Climate desk'), '4.00 of 100.00 USDC')
    await page
      .getByText(/^Resets .*, 00:00 \(Europe\/Berlin\)/)
      .first()
      .waitFor()
    const denied = await evaluate('2.00')
    await visitor.show(`sandbox/transactions/${denied.transaction_id}`)
    const check = page.getByRole('listitem', { name: 'Check 10' })
    await check.getByText('failed').waitFor()
    await check
      .getByText(/4\.00 of at most 5\.00 USDC in a day \(Europe\/Berlin\) are committed\. Resets/)
      .waitFor()
  })

  await chapter(
    'A change by somebody else in the meantime is reported, and what was typed is kept',
    async () => {
      await visitor.show(`sandbox/mandates/${mandateId}`)
      await page.getByRole('link', { name: 'Edit' }).click()
      await page.getByLabel('Total budget').fill('3.00')
      // While it is being saved, so that the screen cannot notice before.
      await page.route(`**/v1/mandates/${mandateId}`, async (route) => {
        await purser.mandates.amend(mandateId, 1, { purpose: 'Papers and maps' })
        await route.continue()
      })
      await page.getByRole('button', { name: 'Review changes' }).click()
      await dialog.getByRole('button', { name: 'Save changes' }).click()
      await dialog.getByText('Somebody else has changed this mandate meanwhile.').waitFor()
      await page.unroute(`**/v1/mandates/${mandateId}`)
      await dialog.getByRole('button', { name: 'Cancel' }).click()
      await page.getByRole('button', { name: 'Merge their changes' }).click()
      assert.equal(await page.getByLabel('Purpose').inputValue(), 'Papers and maps')
      assert.equal(await page.getByLabel('Total budget').inputValue(), '3.00')
    },
  )

  await chapter(
    'A total below what is committed shows the figures, and can end the open proofs',
    async () => {
      await page.getByRole('button', { name: 'Review changes' }).click()
      assert.equal(await dialog.getByRole('list').getByRole('listitem').count(), 1)
      const total = dialog.getByRole('listitem', { name: 'Total budget' })
      assert.deepEqual(await total.getByRole('definition').allInnerTexts(), ['50.00 USDC', '3.00 USDC'])
      await total.getByText('allows less').waitFor()
      await dialog.getByRole('button', { name: 'Save changes' }).click()
      await dialog.getByText(/3\.00 USDC is less than what is committed: 0\.00 spent, 4\.00 held/).waitFor()
      await dialog.getByRole('button', { name: 'End open proofs and save' }).click()
      await page.getByText('Mandate changed').waitFor()
      await page.getByText(/^Version 3, .*, in force$/).waitFor()
      const { max_spend_total, held_total, version } = await purser.mandates.get(mandateId)
      assert.deepEqual([max_spend_total, held_total, version], ['3.00', '0.00', 3])
      await page.getByText('0.00 of 5.00 USDC').waitFor()
    },
  )

  await chapter('A back-test says which past decisions other terms would have changed', async () => {
    await page.getByRole('link', { name: 'Edit' }).click()
    await page.getByLabel('Max amount').fill('1.00')
    await page.getByRole('button', { name: 'Try on past decisions' }).click()
    await page.getByText(/decisions? judged/).waitFor()
    const isOutdated = page.getByText('The form has changed since: this is about its earlier terms.')
    assert.equal(await isOutdated.count(), 0)
    await page.getByLabel('Max amount').fill('2.00')
    await isOutdated.waitFor()
    await page.getByRole('button', { name: 'Try on past decisions' }).click()
    await isOutdated.waitFor({ state: 'detached' })
    await page.getByText(/decisions? judged/).waitFor()
  })

  await chapter(
    'A duplicate is back-tested on the history of its original, and a new mandate on a chosen one',
    async () => {
      const backtest = page.getByRole('region', { name: 'Back-test' })
      const tryCap = async (cap: string) => {
        await page.getByLabel('Cap per payment').fill(cap)
        await backtest.getByRole('button', { name: 'Try on past decisions' }).click()
        await backtest.getByText(/decisions? judged/).waitFor()
      }
      await visitor.show(`sandbox/mandates/new?like=${mandateId}`)
      await backtest.getByText('Which past decisions of “Papers and maps”').waitFor()
      await tryCap('3.50')
      await backtest
        .getByRole('heading', { name: 'Would have been denied: 1 payment over 4.00 USDC' })
        .waitFor()
      await visitor.show('sandbox/mandates/new')
      await backtest.getByText('try these terms on the history of another mandate').click()
      await backtest.getByLabel('Mandate with a history').selectOption({ value: mandateId })
      assert.equal(await backtest.getByRole('button', { name: 'Try on past decisions' }).isDisabled(), true)
      await page.getByLabel('Total budget').fill('50.00')
      await page.getByLabel('Allowed sellers').fill('api.papers.example')
      await tryCap('4.50')
      // Without the daily limit.
      await backtest.getByRole('heading', { name: 'Would have been approved: 1 evaluation' }).waitFor()
      assert.equal(await backtest.getByRole('heading', { name: /^Would have been denied/ }).count(), 0)
      await tryCap('3.50')
      await backtest
        .getByRole('heading', { name: 'Would have been denied: 1 payment over 4.00 USDC' })
        .waitFor()
      await page.getByRole('button', { name: 'Cancel' }).click()
      assert.equal((await purser.mandates.list().page()).items.length, 1, 'nothing was created')
    },
  )

  await chapter('A frozen budget stops everything below it at once', async () => {
    await visitor.show('sandbox/budgets')
    await page.getByRole('link', { name: 'Climate desk' }).click()
    await page
      .getByRole('table', { name: 'Mandates below this budget' })
      .getByText('Papers and maps')
      .waitFor()
    await page.getByRole('button', { name: 'Freeze' }).click()
    assert.equal((await purser.budgets.get(budgetId)).frozen_at, null)
    await dialog.getByRole('button', { name: 'Freeze now' }).click()
    await page.getByText('Frozen: Climate desk').waitFor()
    await visitor.show('sandbox')
    await page.getByRole('link', { name: 'All shared budgets' }).waitFor()
    await visitor.show('sandbox/audit-log?type=budget.frozen')
    await page.getByRole('table').getByRole('link', { name: budgetId }).click()
    await page.getByRole('heading', { level: 1, name: 'Climate desk' }).waitFor()
    const denied = await evaluate('1.00')
    assert.equal(denied.reason_code, 'budget_frozen')
    await visitor.show(`sandbox/transactions/${denied.transaction_id}`)
    const check = page.getByRole('listitem', { name: 'Check 11' })
    await check.getByRole('link', { name: 'Climate desk' }).click()
    await page.getByRole('button', { name: 'Unfreeze' }).click()
    await page.getByText('Unfrozen: Climate desk').waitFor()
    assert.equal((await evaluate('1.00')).decision, 'approved')
  })

  await chapter(
    'An agent is assigned to a shared budget, in which all its mandates count, and removed',
    async () => {
      const mandate = await purser.mandates.create({
        agent_id: agent.id,
        purpose: 'Without a budget of its own',
        max_spend_total: '50.00',
        max_spend_per_transaction: '10.00',
        allowed_sellers: ['api.papers.example'],
        expires_at: '2099-01-01T00:00:00Z',
      })
      const assign = async (budget: { value: string }) => {
        await visitor.show(`sandbox/agents/${agent.id}`)
        await page.getByRole('button', { name: 'Change budget' }).click()
        assert.equal(await dialog.getByRole('button', { name: 'Save' }).isDisabled(), true)
        await dialog.getByLabel('Shared budget').selectOption(budget)
        await dialog.getByRole('button', { name: 'Save' }).click()
      }
      await assign({ value: budgetId })
      await page.getByText('Assigned to the budget').waitFor()
      assert.equal((await purser.agents.get(agent.id)).budget_id, budgetId)
      await visitor.show(`sandbox/mandates/${mandate.id}`)
      await page.getByRole('heading', { name: 'Shared budget: Climate desk' }).waitFor()
      await visitor.show(`sandbox/agents/${agent.id}`)
      await page.getByRole('link', { name: 'Climate desk' }).click()
      await page.getByRole('listitem').filter({ hasText: 'research-bot: all its mandates' }).waitFor()
      // Two owners at once: the later one is told, and decides.
      const other = await purser.budgets.create({ name: 'Travel desk', limits: [] })
      await visitor.show(`sandbox/agents/${agent.id}`)
      await page.getByRole('button', { name: 'Change budget' }).click()
      await dialog.getByLabel('Shared budget').selectOption('')
      // While it is being saved, so that the screen cannot notice before.
      await page.route(`**/v1/agents/${agent.id}`, async (route) => {
        await purser.agents.update(agent.id, { budget_id: other.id })
        await route.continue()
      })
      await dialog.getByRole('button', { name: 'Save' }).click()
      await dialog.getByText('Somebody else has changed the shared budget of this agent').waitFor()
      await page.unroute(`**/v1/agents/${agent.id}`)
      await dialog.getByText('It is in “Travel desk” now.').waitFor()
      assert.equal((await purser.agents.get(agent.id)).budget_id, other.id)
      await dialog.getByRole('button', { name: 'Continue with my choice' }).click()
      await dialog.getByRole('button', { name: 'Save' }).click()
      await page.getByText('Each mandate counts only in its own budget.').waitFor()
      assert.equal((await purser.agents.get(agent.id)).budget_id, null)
      await visitor.show(`sandbox/budgets/${budgetId}`)
      await page.getByText('No agent is assigned to it.').waitFor()
    },
  )

  await chapter('A day later by the test clock, the daily cap starts again', async () => {
    // Proofs from the moment of the freeze stay void.
    service.clock.nowMs += 1
    const mandate = await purser.mandates.create({
      agent_id: agent.id,
      purpose: 'Maps',
      max_spend_total: '50.00',
      max_spend_per_transaction: '10.00',
      allowed_sellers: ['api.papers.example'],
      limits: [{ window: { calendar: 'day', time_zone: 'UTC' }, max_amount: '5.00' }],
      expires_at: '2099-01-01T00:00:00Z',
    })
    mandateId = mandate.id
    const asked = await purser.payments.requestProof(purchase('4.00'))
    assert(asked.decision === 'approved')
    const { verified } = await purser.payments.verify({
      proof: asked.proof,
      merchant_domain: 'api.papers.example',
      expected_amount: '4.00',
    })
    assert.ok(verified)
    const denied = await purser.payments.requestProof(purchase('2.00'))
    assert.equal(denied.decision === 'denied' && denied.reason_code, 'velocity_limit_exceeded')
    await visitor.show(`sandbox/mandates/${mandateId}`)
    await page.getByText('4.00 of 5.00 USDC').waitFor()
    await purser.testClock.advance(86_400)
    await page.getByText('0.00 of 5.00 USDC').waitFor()
    assert.equal((await purser.payments.requestProof(purchase('2.00'))).decision, 'approved')
    await page.getByText('2.00 of 5.00 USDC').waitFor()
  })

  await chapter('Times are shown by the test clock, and those of keys by the real clock', async () => {
    await evaluate('1.00')
    await visitor.go('sandbox')
    const strip = page.getByRole('region', { name: 'Environment' })
    await strip.getByText('Test clock: 1 d 0 h ahead.', { exact: true }).waitFor()
    const feed = page.getByRole('list', { name: 'Latest transactions' }).getByRole('listitem')
    await feed.first().getByText('just now').waitFor()
    await feed.filter({ hasText: '4.00' }).first().getByText('yesterday').waitFor()
    assert.equal(await page.getByText('tomorrow').count(), 0)
    await visitor.show('sandbox/keys')
    const keys = page.getByRole('table', { name: 'Keys' })
    await keys
      .getByText(/^(just now|[0-9]+ minutes? ago)$/)
      .first()
      .waitFor()
    assert.equal(await keys.getByText('yesterday').count(), 0)
  })

  await chapter(
    'The form for a mandate, opened by its address, starts with an expiry by the test clock',
    async () => {
      const nowMs = async () => Date.parse((await purser.testClock.get()).now)
      const expired = await purser.mandates.create({
        agent_id: agent.id,
        purpose: 'Maps of yesterday',
        max_spend_total: '50.00',
        max_spend_per_transaction: '10.00',
        allowed_sellers: ['api.papers.example'],
        expires_at: new Date((await nowMs()) + 3_600_000).toISOString(),
      })
      await purser.testClock.advance(2 * 86_400)
      for (const address of ['sandbox/mandates/new', `sandbox/mandates/new?like=${expired.id}`]) {
        // The service says late what time it is.
        const told = Promise.withResolvers<void>()
        await page.route('**/v1/console/status', async (route) => {
          await told.promise
          await route.continue()
        })
        await visitor.go(address)
        await page.getByRole('heading', { level: 1, name: 'New mandate' }).waitFor()
        told.resolve()
        const expiresMs = Date.parse(`${await page.getByLabel('Expires').inputValue()}Z`)
        const awayDays = (expiresMs - (await nowMs())) / 86_400_000
        assert.ok(Math.abs(awayDays - 30) < 0.1, `${address}: ${awayDays} days`)
        await page.unroute('**/v1/console/status')
      }
    },
  )
  await visitor.leave()
})

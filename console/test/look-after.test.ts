import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Purser } from '@purser/client'

import { startTestService } from '../../service/testing/service.ts'
import { factOf } from './fact.ts'
import { chooseFromMenu } from './menu.ts'
import { runCurl, runServer } from './run-snippets.ts'
import { shareBrowser } from './shared-browser.ts'
import { storyOf } from './story.ts'
import { visit } from './visitor.ts'

test('Managing agents, mandates and sellers: each screen does what it says', async (context) => {
  const service = await startTestService(context)
  service.clock.nowMs = Date.now()
  const purser = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url })
  const chapter = storyOf(context)
  const visitor = await visit(await shareBrowser(), service)
  const { page } = visitor
  await visitor.signIn(service.sandboxKey)
  const shop = { domain: 'shop.example.org', resource_url: 'https://shop.example.org/data' }
  let agentId = ''
  let agentKey = ''

  await chapter('An agent is created, and gets its own key, which can only spend', async () => {
    await visitor.show('sandbox/agents?new')
    await page.getByLabel('Name').fill('research-bot')
    await page.getByLabel('Capabilities').fill('search, purchase')
    await page.getByRole('button', { name: 'Create agent' }).click()
    await page.getByRole('heading', { level: 1, name: 'research-bot' }).waitFor()
    agentId = page.url().split('/').at(-1) ?? ''
    assert.deepEqual((await purser.agents.get(agentId)).capabilities, ['search', 'purchase'])
    await page.getByRole('button', { name: 'Issue a key' }).click()
    const dialog = page.getByRole('dialog', { name: 'A key for research-bot' })
    await dialog.getByLabel('Label').fill('worker-1')
    await dialog.getByRole('button', { name: 'Issue sandbox key' }).click()
    agentKey = await dialog.getByLabel('Key', { exact: true }).innerText()
    const asAgent = new Purser({ apiKey: agentKey, baseUrl: service.url })
    assert.equal((await asAgent.agents.get(agentId)).name, 'research-bot')
    await assert.rejects(asAgent.agents.create({ name: 'another' }), { code: 'insufficient_scope' })
    await dialog.getByRole('button', { name: "I've saved it" }).click()
    await factOf(page, 'Working keys').filter({ hasText: '1' }).waitFor()
  })

  await chapter(
    'The form of a mandate starts with its agent, warns of an address and a distant expiry, and the mandate shows where its money is',
    async () => {
      await page.getByRole('link', { name: 'New mandate' }).click()
      await page.locator('option:checked', { hasText: 'research-bot' }).waitFor({ state: 'attached' })
      await page.getByLabel('Purpose').fill('Market reports')
      await page.getByLabel('Total budget').fill('20.00')
      await page.getByLabel('Cap per payment').fill('10.00')
      await page.getByLabel('Allowed sellers').fill(shop.resource_url)
      await page.getByText(`Did you mean ${shop.domain}?`).waitFor()
      await page.getByLabel('Allowed sellers').fill(`${shop.domain}, data.example.com`)
      await page.getByLabel('Allowed categories').fill('reports')
      await page.getByLabel('Expires').fill('2099-01-01T10:00')
      await page.getByText('It is valid for more than a year.').waitFor()
      await page.getByRole('button', { name: 'Create mandate' }).click()
      await page.getByRole('heading', { level: 1, name: 'Market reports' }).waitFor()
      const mandate_id = page.url().split('/').at(-1) ?? ''
      const payment = { agent_id: agentId, mandate_id, resource_url: shop.resource_url }
      const paid = await purser.payments.requestProof({ ...payment, amount: '4.00' })
      assert.ok(paid.decision === 'approved')
      await purser.payments.verify({
        proof: paid.proof,
        merchant_domain: shop.domain,
        expected_amount: '4.00',
      })
      assert.equal((await purser.payments.requestProof({ ...payment, amount: '1.50' })).decision, 'approved')
      await page.reload()
      await page.getByRole('heading', { name: 'Open holds (1)' }).waitFor()
      await page.getByRole('table', { name: 'Open holds' }).getByText('1.50').waitFor()
      await page.getByRole('img', { name: /^4\.00 of 20\.00 USDC spent/ }).waitFor()
      await factOf(page, 'Unspent').filter({ hasText: '16.00' }).waitFor()
      await page.getByRole('table', { name: 'Transactions' }).getByText('4.00').waitFor()
    },
  )

  await chapter('A duplicate starts with all the same limits', async () => {
    await visitor.show('sandbox/mandates')
    await chooseFromMenu(page, 'Market reports', 'Duplicate')
    await page.getByLabel('Purpose').fill('Market reports, again')
    await page.getByRole('button', { name: 'Create mandate' }).click()
    await page.getByRole('heading', { level: 1, name: 'Market reports, again' }).waitFor()
    const [copy, model] = (await purser.mandates.list().page()).items
    const limitsOf = (mandate: typeof copy) => [
      mandate?.agent_id,
      mandate?.max_spend_total,
      mandate?.max_spend_per_transaction,
      mandate?.allowed_sellers,
      mandate?.allowed_categories,
      Date.parse(mandate?.expires_at ?? ''),
    ]
    assert.deepEqual(limitsOf(copy), limitsOf(model))
    assert.equal(copy?.spent_total, '0.00')
  })

  await chapter('A mandate is revoked by typing a word, after a note on what that ends', async () => {
    await visitor.show('sandbox/mandates')
    await chooseFromMenu(page, 'Market reports', 'Revoke…')
    const dialog = page.getByRole('dialog', { name: 'Revoke this mandate?' })
    await dialog.getByText('16.00 USDC of it are unspent, and open proofs over 1.50 USDC end').waitFor()
    const revoke = dialog.getByRole('button', { name: 'Revoke permanently' })
    assert.equal(await revoke.isDisabled(), true)
    await dialog.getByLabel(/to confirm/).fill('revoke')
    await revoke.click()
    const row = page.getByRole('row', { name: /Market reports research-bot/ })
    await row.getByText('revoked').waitFor()
    const [, revoked] = (await purser.mandates.list().page()).items
    assert.deepEqual([revoked?.status, revoked?.held_total], ['revoked', '0.00'])
  })

  await chapter(
    'A seller gets the middleware with its own domain, which requests payment and is paid',
    async () => {
      await visitor.show('sandbox/sellers?new')
      await page.getByLabel('Name').fill('Reports')
      await page.getByLabel('Domain').fill(shop.domain)
      await page.getByRole('button', { name: 'Register seller' }).click()
      await page.getByRole('table', { name: 'Sellers' }).getByText(shop.domain).waitFor()
      await page.getByRole('button', { name: 'Middleware' }).click()
      const program = await page.getByRole('dialog').getByLabel('Middleware', { exact: true }).innerText()
      assert.ok(program.includes(`'${shop.domain}'`) && program.includes(`'${service.url}'`), program)
      const { key } = await purser.apiKeys.create({ role: 'merchant', environment: 'sandbox' })
      const server = await runServer(context, program, { PURSER_MERCHANT_KEY: key })
      assert.equal((await fetch(`${server}/data`)).status, 402)
      const [mandate] = (await purser.mandates.list().page()).items
      const asked = { agent_id: agentId, mandate_id: mandate?.id ?? '', resource_url: shop.resource_url }
      const answer = await new Purser({ apiKey: agentKey, baseUrl: service.url }).payments.requestProof({
        ...asked,
        amount: '0.10',
      })
      assert.ok(answer.decision === 'approved')
      const headers = { 'x-payment-proof': JSON.stringify(answer.proof) }
      const bought = await fetch(`${server}/data`, { headers })
      assert.deepEqual([bought.status, await bought.json()], [200, { data: 'paid for' }])
      await visitor.show('sandbox/sellers')
      const row = page.getByRole('row', { name: /shop\.example\.org/ })
      await row.getByText('0.10', { exact: true }).first().waitFor()
    },
  )

  await chapter('The audit log finds what was done, and leads to it', async () => {
    await visitor.show('sandbox/audit-log')
    const events = page.getByRole('table', { name: 'Audit log' })
    const row = events.getByRole('row', { name: /Mandate revoked/ })
    const other = events.getByRole('row', { name: /Agent created/ }).first()
    await other.waitFor()
    await page.getByLabel('What happened').selectOption('mandate.revoked')
    await page.waitForURL(/type=mandate\.revoked$/)
    await other.waitFor({ state: 'detached' })
    await row.waitFor()
    assert.equal(await events.getByRole('row').count(), 2)
    await row.getByText('Show', { exact: true }).click()
    await row.getByText('voided_holds').waitFor()
    await row.getByRole('link').click()
    await page.getByRole('heading', { level: 1, name: /^Market reports revoked/ }).waitFor()
  })

  await chapter('Each sample request for developers works when it is pasted unchanged', async () => {
    await visitor.show('sandbox/developers')
    const choice = page.getByLabel('Request', { exact: true }).and(page.locator('select'))
    const values = await choice
      .locator('option')
      .evaluateAll((options) => options.map((one) => (one as HTMLOptionElement).value))
    const answers: [string, number][] = []
    for (const value of values) {
      await choice.selectOption(value)
      const line = await page.locator('pre').innerText()
      answers.push([value, (await runCurl(line, { PURSER_SANDBOX_KEY: service.sandboxKey })).status])
    }
    assert.deepEqual(answers, [
      ['create-agent', 201],
      ['create-mandate', 201],
      ['proof', 201],
      ['evaluate', 200],
      ['verify-agent', 200],
      ['transactions', 200],
    ])
    assert.equal((await fetch(`${service.url}/docs`)).status, 200)
    await page.getByRole('link', { name: 'Reference' }).and(page.locator('[href="/docs"]')).waitFor()
  })

  await chapter('The system screen shows the state that the service reports', async () => {
    await visitor.show('sandbox/system')
    const system = await purser.console.system()
    await factOf(page, 'Version').filter({ hasText: system.version }).waitFor()
    await factOf(page, 'Kind').filter({ hasText: 'SQLite' }).waitFor()
    await factOf(page, 'Where').filter({ hasText: system.store.place }).waitFor()
    await page.getByText('keeping up').waitFor()
    await page
      .locator('dd')
      .filter({ hasText: /^[0-9.]+ ms$/ })
      .first()
      .waitFor()
    await factOf(page, 'Free disk space')
      .filter({ hasText: /iB of .*iB/ })
      .waitFor()
  })

  await chapter('An agent is revoked by typing its name, after a note on what that stops', async () => {
    await visitor.show(`sandbox/agents/${agentId}`)
    await page.getByRole('button', { name: 'Revoke' }).click()
    const dialog = page.getByRole('dialog', { name: 'Revoke this agent?' })
    const { active_mandates, remaining_budget } = await purser.console.agents.get(agentId)
    await dialog.getByText(`${active_mandates} active mandates, of which ${remaining_budget} USDC`).waitFor()
    await dialog.getByText('1 open proof over 1.00 USDC').waitFor()
    await dialog.getByText('1 working key of its own').waitFor()
    await dialog.getByLabel(/to confirm/).fill('research-bot')
    await dialog.getByRole('button', { name: 'Revoke permanently' }).click()
    await page.getByRole('heading', { level: 1 }).getByText('revoked').waitFor()
    // The button that had the focus is gone.
    await page.getByRole('button', { name: 'Revoke' }).waitFor({ state: 'detached' })
    assert.equal(await page.locator('#content :focus').count(), 1)
    const [mandate] = (await purser.console.mandates.list({ agent_id: agentId }).page()).items
    assert.equal(mandate?.status, 'active')
    const late = {
      agent_id: agentId,
      mandate_id: mandate.id,
      amount: '0.10',
      resource_url: shop.resource_url,
    }
    assert.equal((await purser.payments.requestProof(late)).decision, 'denied')
  })

  await chapter('No screen shows available money in a mandate of a revoked agent', async () => {
    await page.getByText('Unspent in 0 active mandates').waitFor()
    const row = page.getByRole('row', { name: /^Market reports, again/ })
    await row.getByText('agent revoked', { exact: true }).waitFor()
    assert.match((await row.getByRole('cell').allInnerTexts()).join('|'), /\|–\|/)
    await row.getByRole('link', { name: 'Market reports, again' }).click()
    await page.getByRole('heading', { level: 1 }).getByText('agent revoked', { exact: true }).waitFor()
    await page.getByText('Its agent is revoked, so no more payments are approved.').waitFor()
    await factOf(page, 'Unspent').filter({ hasText: '–' }).waitFor()
    assert.equal(await page.getByRole('button', { name: 'Pause' }).count(), 0)
    await page.getByRole('button', { name: /^Actions for/ }).click()
    await page.getByRole('menuitem', { name: 'Duplicate' }).waitFor()
    assert.equal(await page.getByRole('menuitem', { name: 'Pause' }).count(), 0)
    // The copy needs another agent.
    await page.getByRole('menuitem', { name: 'Duplicate' }).click()
    await page.getByRole('button', { name: 'Create mandate' }).click()
    await page.getByText('Choose the agent that may spend.').waitFor()
    await visitor.show('sandbox/mandates')
    await page.getByLabel('Status').selectOption('agent_revoked')
    await page.getByRole('row', { name: /^Market reports, again/ }).waitFor()
    await page.getByLabel('Status').selectOption('active')
    await page.getByText(/^No mandate/).waitFor()
  })

  await visitor.leave()
})

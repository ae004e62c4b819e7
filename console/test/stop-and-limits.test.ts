import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Purser } from '@purser/client'

import { readCsv } from '../../service/testing/http/read-csv.ts'
import { issueKey, issueProof, preparePurchase, verifyProof } from '../../service/testing/service.ts'
import { shareTestService } from '../../service/testing/shared-service.ts'
import { downloadCsv } from './download.ts'
import { shareBrowser } from './shared-browser.ts'
import { storyOf } from './story.ts'
import { visit } from './visitor.ts'
import { askForApproval } from './waiting-requests.ts'

const phone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true }

test('A stop is confirmed as a phone types it, fits above its keyboard, and is one entry in the audit log with what it covered', async () => {
  const service = await shareTestService()
  service.clock.nowMs = Date.now()
  const { mandateId } = await preparePurchase(service)
  const visitor = await visit(await shareBrowser(), service, phone)
  const { page } = visitor
  await visitor.signIn(service.sandboxKey)
  await page.getByRole('button', { name: 'Stop all agents' }).tap()
  const dialog = page.getByRole('dialog', { name: 'Stop all agents?' })
  const field = dialog.getByLabel(/to confirm/)
  assert.equal(await field.getAttribute('autocapitalize'), 'none')
  // What a keyboard leaves of the screen.
  await page.setViewportSize({ width: 390, height: 480 })
  const confirm = dialog.getByRole('button', { name: 'Stop all agents' })
  await field.fill('Sto')
  assert.equal(await confirm.isDisabled(), true)
  await field.fill('Stop ')
  const box = await confirm.boundingBox()
  assert.ok(box && box.y >= 0 && box.y + box.height <= 480, JSON.stringify(box))
  await confirm.tap()
  await page.getByText('Agents are stopped.').waitFor()

  await visitor.show('sandbox/audit-log')
  const first = page.getByRole('table', { name: 'Audit log' }).getByRole('row').nth(1)
  await first.getByText('All agents stopped').waitFor()
  await first.getByText('1 mandate paused, 0 open proofs ended').waitFor()
  assert.equal(await page.getByText('Mandate paused', { exact: true }).and(page.locator('strong')).count(), 0)
  await first.getByRole('link', { name: mandateId }).tap()
  await page.getByText('stopped with all agents').waitFor()
  await visitor.leave()
})

test('The form, the mandate and the ladder say that a category limit is not checked at payment', async () => {
  const service = await shareTestService()
  service.clock.nowMs = Date.now()
  const purchase = await preparePurchase(service)
  const paid = await verifyProof(service, await issueProof(service, purchase))
  const purser = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url })
  const mandate = await purser.mandates.create({
    agent_id: purchase.agentId,
    purpose: 'Maps',
    max_spend_total: '1.00',
    max_spend_per_transaction: '1.00',
    allowed_sellers: ['*'],
    allowed_categories: ['maps'],
    expires_at: '2099-01-01T00:00:00Z',
  })
  const visitor = await visit(await shareBrowser(), service)
  const { page } = visitor
  await visitor.signIn(service.sandboxKey)
  const rule = page.getByText(/Not checked at payment, unless the mandate enforces categories\./)
  await visitor.show('sandbox/mandates/new')
  await rule.waitFor()
  await page.getByLabel('Allowed categories').fill('maps')
  await page.getByText('The category limit does not stop a payment by itself.').waitFor()
  await visitor.show(`sandbox/mandates/${mandate.id}`)
  await rule.waitFor()
  await visitor.show(`sandbox/transactions/${paid.body.transaction_id}`)
  const check = page.getByRole('listitem', { name: 'Check 7' })
  await check.getByText(/Not checked at payment/).waitFor()
  await check.getByText('not asked').waitFor()
  await visitor.leave()
})

test('A payment above the threshold is refused, its owner approves it in the inbox with one key, and it is paid', async (context) => {
  const service = await shareTestService()
  service.clock.nowMs = Date.now()
  const purser = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url })
  const agent = await purser.agents.create({ name: 'research-bot' })
  const browser = await shareBrowser()
  const visitor = await visit(browser, service)
  const { page } = visitor
  const chapter = storyOf(context)
  await visitor.signIn(service.sandboxKey)
  const badge = page.getByRole('link', { name: /^Approvals/ })
  assert.equal(await badge.innerText(), 'Approvals')
  const { asAgent, mandate, payment, increase } = await askForApproval(service, agent)
  const purchase = {
    agent_id: agent.id,
    mandate_id: mandate.id,
    amount: payment.amount ?? '',
    resource_url: payment.resource_url ?? '',
  }
  const ask = (approval_id?: string, change = {}) =>
    asAgent.payments.requestProof({ ...purchase, ...change, ...(approval_id && { approval_id }) })
  /** Another payment that waits. */
  const askAnew = async (amount: string): Promise<string> => {
    const refused = await ask(undefined, { amount, resource_url: `${purchase.resource_url}/${amount}` })
    assert.ok(refused.decision === 'denied' && refused.approval)
    return refused.approval.id
  }

  let transactionId = ''

  await chapter(
    'The navigation counts pending requests, and the refusal links to the page where they are decided',
    async () => {
      await page.getByRole('link', { name: 'Approvals (2 approvals waiting)' }).waitFor()
      const refused = await ask()
      assert.ok(refused.decision === 'denied' && refused.approval?.id === payment.id)
      await page.goto(refused.approval.url)
      await page.getByRole('heading', { level: 1, name: '42.50 USDC at reports.energy.example' }).waitFor()
      await page.getByText('More than 10.00 USDC').waitFor()
      await page.getByText('After this payment, 107.50 of 150.00 USDC are left in the mandate.').waitFor()
      assert.equal(new URL(page.url()).pathname, `/console/sandbox/approvals/${payment.id}`)
    },
  )

  await chapter(
    'A key typed into the note decides nothing; the same key outside of it approves',
    async () => {
      await page.getByLabel('Note (optional)').pressSequentially('a good deal')
      assert.equal((await purser.approvals.get(payment.id)).status, 'pending')
      await page.getByRole('group', { name: 'Decision' }).press('a')
      await page.getByText('Approved. The agent can pay once').waitFor()
      const { status, decisions } = await purser.approvals.get(payment.id)
      assert.deepEqual([status, decisions.map(({ note }) => note)], ['approved', ['a good deal']])
      const proof = await ask(payment.id)
      assert.ok(proof.decision === 'approved')
      const charge = { merchant_domain: 'reports.energy.example', expected_amount: purchase.amount }
      const paid = await purser.payments.verify({ ...charge, proof: proof.proof })
      assert.ok(paid.verified)
      transactionId = paid.transaction_id
      await page.getByText('Used. The agent has its proof of payment.').waitFor()
      await page.getByText('used', { exact: true }).waitFor()
    },
  )

  await chapter('A refund shows in the budget, the list, the chart and the CSV', async () => {
    await visitor.show(`sandbox/transactions/${transactionId}`)
    await page.getByRole('button', { name: 'Refund…' }).click()
    const dialog = page.getByRole('dialog', { name: 'Refund this payment' })
    assert.equal(await dialog.getByLabel('Amount (USDC)').inputValue(), '42.50')
    await dialog.getByLabel('Amount (USDC)').fill('42.51')
    await dialog.getByText('This is more than what is left of the payment.').waitFor()
    assert.ok(await dialog.getByRole('button', { name: 'Refund' }).isDisabled())
    await dialog.getByLabel('Amount (USDC)').fill('12,50')
    await dialog
      .getByText('An amount above zero such as 1000.00, without separators, with at most six decimals.')
      .waitFor()
    await dialog.getByLabel('Amount (USDC)').fill('12.50')
    await dialog.getByLabel('Reason (optional)').fill('One chapter was missing')
    await dialog.getByRole('button', { name: 'Refund' }).click()
    await page.getByText('Refunded: 12.50 USDC').waitFor()
    await page.getByText('partly refunded').waitFor()
    const refunds = page.getByRole('table', { name: 'Refunds' })
    await refunds.getByRole('link', { name: 'One chapter was missing' }).click()
    await page.getByText('A refund', { exact: true }).waitFor()
    await page.getByRole('link', { name: transactionId }).click()
    await page.getByRole('button', { name: 'Refund…' }).click()
    assert.equal(await dialog.getByLabel('Amount (USDC)').inputValue(), '30.00')
    await page.keyboard.press('Escape')

    await visitor.show(`sandbox/mandates/${mandate.id}`)
    await page.getByRole('region', { name: 'Budget', exact: true }).getByText('30.00').first().waitFor()
    assert.equal((await purser.mandates.get(mandate.id)).spent_total, '30.00')
    await visitor.show('sandbox/transactions?status=refunded')
    const row = page.getByRole('table', { name: 'Transactions' }).getByRole('row').nth(1)
    await row.getByText('-12.50').waitFor()
    await row.getByText('One chapter was missing').waitFor()
    const [refund] = readCsv(await downloadCsv(page))
    const { status, amount, refund_of, reason_detail } = refund ?? {}
    assert.deepEqual(
      [status, amount, refund_of, reason_detail],
      ['refunded', '12.50', transactionId, 'One chapter was missing'],
    )
    await visitor.show('sandbox')
    const bars = page.getByRole('table', { name: 'Spending in the last 24 hours' }).locator('tbody tr')
    await bars.last().getByText('12.50').waitFor()
    assert.deepEqual(await bars.last().locator('td').allInnerTexts(), ['30.00', '0.00', '1', '12.50', '2'])
  })

  await chapter('In the inbox, a request is denied with one key, and an approval is withdrawn', async () => {
    const [first, second] = [await askAnew('20.00'), await askAnew('30.00')]
    await page.getByRole('link', { name: 'Approvals (3 approvals waiting)' }).click()
    const waiting = page.getByRole('list', { name: 'Requests that wait' }).getByRole('article')
    await waiting.nth(2).waitFor()
    // Not while the focus is elsewhere.
    await page.keyboard.press('d')
    await waiting.nth(0).getByRole('link', { name: '20.00 USDC' }).focus()
    await page.keyboard.press('j')
    await page.keyboard.press('k')
    await page.keyboard.press('d')
    await page.getByText('Denied: 20.00 USDC at reports.energy.example').waitFor()
    await page.getByText('2 requests, soonest to expire first.').waitFor()
    assert.equal((await purser.approvals.get(first)).status, 'denied')
    assert.equal((await purser.approvals.get(second)).status, 'pending')
    await waiting.filter({ hasText: '30.00' }).getByRole('button', { name: 'Approve' }).click()
    const toast = page.locator('.toast', { hasText: 'Approved: 30.00 USDC at reports.energy.example' })
    await toast.getByRole('button', { name: 'Withdraw' }).click()
    await page.getByText('Withdrawn: 30.00 USDC at reports.energy.example').waitFor()
    assert.equal((await purser.approvals.get(second)).status, 'denied')
  })

  await chapter(
    'A decision that another person has made in the meantime is explained in plain words',
    async () => {
      const id = await askAnew('40.00')
      const card = page.getByRole('article', { name: /40\.00/ })
      await card.waitFor()
      await page.route('**/v1/approvals?*', () => undefined)
      await purser.approvals.deny(id)
      await card.getByRole('button', { name: 'Approve' }).click()
      await page.getByText(/Not approved: 40\.00 USDC .* Somebody has decided differently/).waitFor()
      await page.unroute('**/v1/approvals?*')
    },
  )

  await chapter('An increase shows both terms, and takes effect when it is approved', async () => {
    await visitor.show(`sandbox/approvals/${increase.id}`)
    const table = page.getByRole('table', { name: 'Terms before and after' })
    const row = table.getByRole('row', { name: /Total/ })
    await row.getByText('150.00 USDC').waitFor()
    assert.deepEqual(await row.getByRole('cell').allInnerTexts(), ['150.00 USDC', '400.00 USDC'])
    const limits = table.getByRole('row', { name: /Limits over time/ }).getByRole('cell')
    assert.match((await limits.nth(0).innerText()) ?? '', /at most 120\.00 USDC in a day \(Europe\/Berlin\)/)
    assert.match((await limits.nth(1).innerText()) ?? '', /at most 360\.00 USDC in a day .*12 payments/s)
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByText('Approved. The mandate has its new terms.').waitFor()
    const widened = await purser.mandates.get(mandate.id)
    assert.deepEqual([widened.max_spend_total, widened.limits[0]?.max_amount], ['400.00', '360.00'])
    assert.deepEqual(await row.getByRole('cell').allInnerTexts(), ['150.00 USDC', '400.00 USDC'])
  })

  await chapter(
    'Two people decide where two are required, and nobody decides their own request',
    async () => {
      const both = await askForApproval(service, agent, { required: 2 })
      const second = await issueKey(service, { role: 'approver', label: 'Grace' })
      await visitor.show(`sandbox/approvals/${both.payment.id}`)
      await page.getByText('0 of 2 approvals').waitFor()
      await page.getByRole('button', { name: 'Approve' }).click()
      await page.getByText('1 of 2 approvals').waitFor()
      await page.getByText('You have approved it. Another person must approve it, too.').waitFor()
      assert.ok(await page.getByRole('button', { name: 'Approve' }).isDisabled())
      const other = await visit(browser, service)
      await other.signIn(second)
      assert.equal(await other.page.getByRole('button', { name: 'Stop all agents' }).count(), 0)
      // What the service would refuse is not offered.
      for (const [screen, title] of [
        ['agents?new', 'Agents'],
        [`agents/${agent.id}`, agent.name],
        ['mandates', 'Mandates'],
        [`mandates/${mandate.id}`, mandate.purpose],
        ['budgets?new', 'Budgets'],
        ['sellers?new', 'Sellers'],
        ['keys?new', 'Keys'],
        ['sessions', 'Sessions'],
      ] as const) {
        await other.show(`sandbox/${screen}`)
        await other.page.getByRole('heading', { level: 1, name: title }).waitFor()
        await other.page.locator('.waiting').first().waitFor({ state: 'detached' })
        const offered = ['button', 'link'] as const
        for (const role of offered) {
          const actions = other.page.getByRole(role, {
            name: /^(New |Issue a key|Revoke|Pause|Resume|Freeze|End all)/,
          })
          assert.equal(await actions.count(), 0, screen)
        }
        assert.equal(await other.page.getByRole('dialog').count(), 0, screen)
        const menus = other.page.locator('#content [aria-haspopup="menu"]')
        for (const menu of await menus.all()) {
          await menu.click()
          await other.page.getByRole('menu').waitFor()
          assert.deepEqual(await other.page.getByRole('menuitem').allInnerTexts(), ['Edit'], screen)
          await other.page.keyboard.press('Escape')
          await other.page.getByRole('menu').waitFor({ state: 'detached' })
        }
        assert.equal((await menus.count()) > 0, /mandate|agents\//.test(screen), screen)
      }
      await other.page.goto(`${service.url}/console/sandbox/mandates/new`)
      await other.page.getByText('Page not found').waitFor()
      await other.show(`sandbox/mandates/${mandate.id}/edit`)
      await other.page.getByRole('button', { name: 'Review changes' }).waitFor()
      assert.equal(await other.page.getByRole('region', { name: 'Back-test' }).count(), 0)
      await other.show(`sandbox/approvals/${both.increase.id}`)
      await other.page.getByText('Only an owner can approve wider terms. You can deny them.').waitFor()
      await other.show(`sandbox/approvals/${both.payment.id}`)
      await other.page.getByRole('button', { name: 'Approve' }).click()
      await other.page.getByText('Approved. The agent can pay once').waitFor()
      await other.leave()
      await page.getByText('Approved. The agent can pay once').waitFor()
      await page.getByRole('listitem').filter({ hasText: 'Grace' }).waitFor()

      const own = await purser.payments.requestProof({
        ...purchase,
        mandate_id: both.mandate.id,
        resource_url: 'https://reports.energy.example/own',
      })
      assert.ok(own.decision === 'denied' && own.approval)
      await visitor.show(`sandbox/approvals/${own.approval.id}`)
      await page.getByText('You made this request yourself. Another person must decide.').waitFor()
      assert.ok(await page.getByRole('button', { name: 'Deny' }).isDisabled())
    },
  )
  await visitor.leave()
})

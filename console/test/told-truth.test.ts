import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Purser } from '@purser/client'

import {
  issueProof,
  merchantDomain,
  preparePurchase,
  startTestService,
  verifyProof,
} from '../../service/testing/service.ts'
import { shareTestService } from '../../service/testing/shared-service.ts'
import { factOf } from './fact.ts'
import { chooseFromMenu } from './menu.ts'
import { shareBrowser } from './shared-browser.ts'
import { storyOf } from './story.ts'
import { visit } from './visitor.ts'

test('Refunds and authorized payments: what the screens say about them is true', async (context) => {
  const service = await shareTestService()
  service.clock.nowMs = Date.now()
  const purser = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url })
  await purser.sellers.create({ name: 'Shop', domain: merchantDomain, price_config: {} })
  const purchase = await preparePurchase(service)
  const { transaction_id } = (await verifyProof(service, await issueProof(service, purchase, '4.00'))).body
  await purser.transactions.refund(transaction_id, { amount: '1.50' }, { idempotencyKey: 'once' })
  const chapter = storyOf(context)
  const visitor = await visit(await shareBrowser(), service)
  const { page } = visitor
  await visitor.signIn(service.sandboxKey)
  const dialog = page.getByRole('dialog')

  await chapter('The chart of a mandate deducts refunds, like its figures', async () => {
    await visitor.show(`sandbox/mandates/${purchase.mandateId}`)
    await factOf(page, 'Spent').filter({ hasText: '2.50' }).waitFor()
    await page.getByRole('img', { name: /^2\.50 of 100\.00 USDC spent/ }).waitFor()
  })

  await chapter(
    'The amount of a refund that was typed before the session ended is not replaced',
    async () => {
      await visitor.show(`sandbox/transactions/${transaction_id}?refund`)
      await dialog.getByLabel('Amount (USDC)').fill('0.25')
      for await (const { id } of purser.sessions.list()) await purser.sessions.end(id)
      await page.getByLabel('Owner or operator key').fill(service.sandboxKey)
      await page.getByRole('button', { name: 'Sign in' }).click()
      assert.equal(await dialog.getByLabel('Amount (USDC)').inputValue(), '0.25')
    },
  )

  const authorized = await issueProof(service, purchase, '3.00')
  await purser.payments.authorize({
    proof: authorized,
    merchant_domain: merchantDomain,
    expected_amount: '3.00',
  })
  await chapter('Revoking and stopping say that what is authorized can still be charged', async () => {
    await visitor.show('sandbox/mandates')
    await chooseFromMenu(page, 'Buy research data', 'Revoke…')
    await dialog.getByText('Authorized payments of 3.00 USDC can still be charged').waitFor()
    await visitor.show('sandbox?stop')
    await dialog.getByText('What merchants have already authorized can still be charged').waitFor()
    await dialog.getByLabel(/to confirm/).fill('stop')
    await page.keyboard.press('Enter')
    await page.getByText('1 mandate is paused. Agents cannot pay under it until it is resumed.').waitFor()
    const charge = { amount: '2.00' }
    const captured = await purser.payments.capture(authorized.nonce, charge)
    await page.getByRole('button', { name: 'Resume stopped mandates' }).click()
    await dialog.getByText('The 1 mandate that was stopped can pay again at once.').waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    assert.equal((await purser.console.status()).stopped_mandates, 1)
    await page.getByRole('button', { name: 'Resume stopped mandates' }).click()
    await dialog.getByRole('button', { name: 'Resume now' }).click()
    await page.getByText('Agents are stopped.').waitFor({ state: 'detached' })
    await visitor.show(`sandbox/transactions/${captured.transaction_id}`)
    await factOf(page, 'Authorized, of which the payment was captured').filter({ hasText: '3.00' }).waitFor()
  })

  await chapter('The revenue of a seller is what it was paid less refunds', async () => {
    await visitor.show('sandbox/sellers')
    const sellers = page.getByRole('table', { name: 'Sellers' })
    await sellers.getByRole('columnheader', { name: 'Revenue (USDC)' }).waitFor()
    await page.getByText('their revenue less refunds').waitFor()
    await sellers.getByRole('cell', { name: '4.50' }).nth(1).waitFor()
  })

  await chapter(
    'A pause says that open proofs have ended, and a failed resumption that it may be partial',
    async () => {
      const proof = await issueProof(service, purchase)
      await visitor.show(`sandbox/mandates/${purchase.mandateId}`)
      await factOf(page, 'Of that, held by open proofs').filter({ hasText: '1.00' }).waitFor()
      await page.getByRole('button', { name: 'Pause', exact: true }).click()
      await page.getByText('Paused: Buy research data. Its open proofs have ended.').waitFor()
      assert.equal((await verifyProof(service, proof)).body.reason, 'proof_expired')
      await page.getByRole('button', { name: 'Resume', exact: true }).click()
      await page.getByText('Resumed: Buy research data').waitFor()
      await purser.console.stop()
      const resume = page.getByRole('button', { name: 'Resume stopped mandates' })
      await resume.waitFor()
      await page.route('**/v1/console/resume', (route) =>
        route.fulfill({ status: 503, json: { detail: 'store_unavailable' } }),
      )
      const resumeNow = async () => {
        await resume.click()
        await dialog.getByRole('button', { name: 'Resume now' }).click()
      }
      await resumeNow()
      await page.getByText('Perhaps not all stopped mandates were resumed. The service cannot').waitFor()
      await page.unrouteAll({ behavior: 'wait' })
      await resumeNow()
      await page.getByText('1 mandate resumed').last().waitFor()
    },
  )

  await chapter(
    'Rows of the filters before are marked as such until those of the new ones arrive',
    async () => {
      await visitor.show('sandbox/transactions')
      await page.getByText('3 transactions', { exact: true }).waitFor()
      const held = Promise.withResolvers<void>()
      await page.route('**/v1/console/transactions?*', async (route) => {
        await held.promise
        await route.continue()
      })
      await page.getByLabel('Status').selectOption('denied')
      await page.getByText('Loading… These are the rows from before: 3 transactions').waitFor()
      held.resolve()
      await page.unrouteAll({ behavior: 'wait' })
      await page.getByText('No transactions match your filters').waitFor()
    },
  )

  await chapter('An inbox that does not show all says that others may expire sooner', async () => {
    const waiting = Array.from({ length: 3 }, async () => {
      const { agentId, mandateId } = await preparePurchase(service, { approval: { above: '0.01' } })
      const payment = { agent_id: agentId, mandate_id: mandateId, resource_url: purchase.resourceUrl }
      const amounts = Array.from({ length: 17 }, (_, index) => `1.${index + 10}`)
      await Promise.all(amounts.map((amount) => purser.payments.requestProof({ ...payment, amount })))
    })
    await Promise.all(waiting)
    await visitor.show('sandbox/approvals')
    await page.getByText('The newest 50 requests. Others may expire sooner: show more, below.').waitFor()
    await page.getByRole('button', { name: 'Show more' }).first().click()
    await page.getByText('51 requests, soonest to expire first.').waitFor()
  })

  await visitor.leave()
})

test('On a machine whose clock is an hour slow, times are shown by the clock of the service', async () => {
  const service = await shareTestService()
  service.clock.nowMs = Date.now()
  const purser = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url })
  await purser.testClock.advance(86_400)
  const visitor = await visit(await shareBrowser(), service)
  const { page } = visitor
  await page.clock.setFixedTime(service.clock.nowMs - 3_600_000)
  await visitor.signIn(service.sandboxKey)
  await visitor.show('sandbox/sessions')
  const mine = page.getByRole('row', { name: /This session/ })
  await mine.getByText('in 8 hours').waitFor()
  assert.match(await mine.innerText(), /\sjust now\s+just now\s+in 8 hours\s*$/)
  await visitor.show('sandbox/developers')
  const choice = page.getByLabel('Request', { exact: true }).and(page.locator('select'))
  await choice.selectOption('Create a mandate')
  const expiresAt = /"expires_at": "(.*)"/.exec(await page.locator('pre').innerText())?.[1] ?? ''
  const awayDays = (Date.parse(expiresAt) - Date.parse((await purser.testClock.get()).now)) / 86_400_000
  assert.ok(Math.abs(awayDays - 30) < 0.01, `${expiresAt}: ${awayDays} days`)
  await visitor.leave()
})

test('What was spent today is of the day by the clock of the service, and says when that day began', async (context) => {
  const service = await startTestService(context)
  const nowMs = Date.now()
  const purchase = await preparePurchase(service)
  const pay = async (atMs: number, amount: string) => {
    service.clock.nowMs = atMs
    await verifyProof(service, await issueProof(service, purchase, amount))
  }
  await pay(nowMs - 26 * 3_600_000, '5.00')
  await pay(nowMs, '4.00')
  const visitor = await visit(await shareBrowser(), service)
  const { page } = visitor
  await page.clock.setFixedTime(nowMs - 24 * 3_600_000)
  await visitor.signIn(service.sandboxKey)
  const tile = page.locator('.tile', { hasText: 'Spent today' })
  await tile.getByText('4.00').waitFor()
  await tile.getByText('1 payment since 00:00').waitFor()
  await visitor.leave()
})

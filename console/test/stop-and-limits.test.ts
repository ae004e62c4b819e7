import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Purser } from '@purser/client'

import { issueProof, preparePurchase, startTestService, verifyProof } from '../../service/testing/service.ts'
import { startBrowser } from './browser.ts'
import { visit } from './visitor.ts'

const phone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true }

test('A stop is confirmed as a phone types it, fits above its keyboard, and is one entry in the audit log with what it covered', async (context) => {
  const service = await startTestService(context)
  service.clock.nowMs = Date.now()
  const { mandateId } = await preparePurchase(service)
  const browser = await startBrowser()
  context.after(() => browser.close())
  const visitor = await visit(browser, service, phone)
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

  await visitor.go('sandbox/audit-log')
  const first = page.getByRole('table', { name: 'Audit log' }).getByRole('row').nth(1)
  await first.getByText('All agents stopped').waitFor()
  await first.getByText('1 mandate paused, 0 open proofs ended').waitFor()
  assert.equal(await page.getByText('Mandate paused', { exact: true }).and(page.locator('strong')).count(), 0)
  await first.getByRole('link', { name: mandateId }).tap()
  await page.getByText('stopped with all agents').waitFor()
  await visitor.leave()
})

test('The form, the mandate and the ladder say that a category limit is not checked at payment', async (context) => {
  const service = await startTestService(context)
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
  const browser = await startBrowser()
  context.after(() => browser.close())
  const visitor = await visit(browser, service)
  const { page } = visitor
  await visitor.signIn(service.sandboxKey)
  const rule = page.getByText(/Not checked at payment, unless the mandate enforces categories\./)
  await visitor.go('sandbox/mandates/new')
  await rule.waitFor()
  await page.getByLabel('Allowed categories').fill('maps')
  await page.getByText('The category limit does not stop a payment by itself.').waitFor()
  await visitor.go(`sandbox/mandates/${mandate.id}`)
  await rule.waitFor()
  await visitor.go(`sandbox/transactions/${paid.body.transaction_id}`)
  const check = page.getByRole('listitem', { name: 'Check 7' })
  await check.getByText(/Not checked at payment/).waitFor()
  await check.getByText('not asked').waitFor()
  await visitor.leave()
})

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
import { shareBrowser } from './shared-browser.ts'
import { storyOf } from './story.ts'
import { visit } from './visitor.ts'

test('A refund whose answer was lost is made once, although its form was closed or its page reloaded', async (context) => {
  const service = await startTestService(context)
  service.clock.nowMs = Date.now()
  const purser = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url })
  await purser.sellers.create({ name: 'Shop', domain: merchantDomain, price_config: {} })
  const proof = await issueProof(service, await preparePurchase(service), '4.00')
  const { transaction_id } = (await verifyProof(service, proof)).body
  const chapter = storyOf(context)
  const visitor = await visit(await shareBrowser(), service)
  const { page } = visitor
  await visitor.signIn(service.sandboxKey)
  const dialog = page.getByRole('dialog')
  const amount = dialog.getByLabel('Amount (USDC)')
  const reason = dialog.getByLabel('Reason (optional)')
  const refund = dialog.getByRole('button', { name: 'Refund', exact: true })
  const isUnknown = dialog.getByText('was sent, but no answer came back')
  const refunded = async () => (await purser.transactions.get(transaction_id)).refunded_total

  await chapter('The form that is opened again has the same refund, which is not made twice', async () => {
    await visitor.show(`sandbox/transactions/${transaction_id}?refund`)
    await page.route('**/refund', async (route) => {
      await route.fetch()
      await route.abort()
    })
    await amount.fill('1.50')
    await reason.fill('Broken')
    await refund.click()
    await dialog.getByText('It may or may not have been done.').waitFor()
    await isUnknown.waitFor()
    assert.equal(await refunded(), '1.50')
    await page.unrouteAll({ behavior: 'wait' })
    // A proxy that does not find the service knows nothing of the refund.
    await page.route('**/refund', (route) =>
      route.fulfill({ status: 404, contentType: 'text/html', body: '<h1>404 Not Found</h1>' }),
    )
    await refund.click()
    await dialog.getByText('Something other than the service answered (404)').waitFor()
    await isUnknown.waitFor()
    await page.unrouteAll({ behavior: 'wait' })
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await page.reload()
    await page.getByRole('button', { name: 'Refund…' }).click()
    await dialog.getByText('A refund of 1.50 USDC').waitFor()
    assert.deepEqual([await amount.inputValue(), await reason.inputValue()], ['1.50', 'Broken'])
    assert.equal(await amount.isEditable(), false)
    await refund.click()
    await page.getByText('Refunded: 1.50 USDC').waitFor()
    assert.equal(await refunded(), '1.50')
  })

  await chapter('Once it is answered, or discarded, the form begins anew', async () => {
    await page.getByRole('button', { name: 'Refund…' }).click()
    assert.equal(await amount.inputValue(), '2.50')
    assert.equal(await isUnknown.count(), 0)
    await page.route('**/refund', (route) =>
      route.fulfill({ status: 503, json: { detail: 'store_unavailable' } }),
    )
    await amount.fill('2.00')
    await refund.click()
    await isUnknown.waitFor()
    await page.unrouteAll({ behavior: 'wait' })
    await dialog.getByRole('button', { name: 'Enter another refund' }).click()
    await amount.fill('1.00')
    await page.route('**/refund', (route) =>
      route.fulfill({ status: 409, json: { detail: 'refund_exceeds_payment' } }),
    )
    await refund.click()
    await dialog.getByRole('alert').waitFor()
    await page.unrouteAll({ behavior: 'wait' })
    assert.equal(await isUnknown.count(), 0)
    await amount.fill('0.50')
    await refund.click()
    await page.getByText('Refunded: 0.50 USDC').waitFor()
    assert.equal(await refunded(), '2.00')
  })

  await visitor.leave()
})

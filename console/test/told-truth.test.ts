import { test } from 'node:test'

import { Purser } from '@purser/client'

import {
  issueProof,
  merchantDomain,
  preparePurchase,
  startTestService,
  verifyProof,
} from '../../service/testing/service.ts'
import { factOf } from './fact.ts'
import { shareBrowser } from './shared-browser.ts'
import { storyOf } from './story.ts'
import { visit } from './visitor.ts'

test('Refunds and authorized payments: what the screens say about them is true', async (context) => {
  const service = await startTestService(context)
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

  await chapter('The chart of a mandate deducts refunds, like its figures', async () => {
    await visitor.show(`sandbox/mandates/${purchase.mandateId}`)
    await factOf(page, 'Spent').filter({ hasText: '2.50' }).waitFor()
    await page.getByRole('img', { name: /^2\.50 of 100\.00 USDC spent/ }).waitFor()
  })

  await visitor.leave()
})

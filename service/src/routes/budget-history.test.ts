import assert from 'node:assert/strict'
import { test } from 'node:test'

import { multiplyLedger } from '../../testing/multiply-ledger.ts'
import { pay } from '../../testing/purchases.ts'
import { askForProof, createTenant, preparePurchase, startTestService } from '../../testing/service.ts'

test('A limit of a shared budget that would have to count more than 20,000 payments is 409 history_too_long, however many mandates made them', async (context) => {
  const keys = {
    PURSER_BOOTSTRAP_SANDBOX_KEY: `svc_sand_${'chosen-for-this-test'.repeat(2)}`,
    PURSER_BOOTSTRAP_PRODUCTION_KEY: `svc_prod_${'chosen-for-this-test'.repeat(2)}`,
  }
  const before = await startTestService(context, keys)
  const limits = [{ window: 'lifetime', max_amount: '9000000.00' }]
  const budget = await before.call('POST', '/v1/budgets', { body: { name: 'Research', limits } })
  assert.equal(budget.status, 201, budget.text)
  const terms = { max_spend_total: '1000000.00', budget_id: budget.body.id }
  for (let count = 0; count < 3; count++) await pay(before, await preparePurchase(before, terms))
  await before.stop()
  await multiplyLedger({ path: before.databasePath }, { copies: 7_000, everyMs: 1 })

  const service = await startTestService(context, {
    ...keys,
    PURSER_DATABASE: `sqlite:${before.databasePath}`,
  })
  const { status, text } = await service.call('PATCH', `/v1/budgets/${budget.body.id}`, {
    body: { limits: [...limits, { window: { rolling_seconds: 86_400 }, max_amount: '9000000.00' }] },
    headers: { 'if-match': '"1"' },
  })
  assert.deepEqual([status, text], [409, '{"detail":"history_too_long"}'])
})

test('An account pauses between changes that may count many payments; its payments and other accounts do not', async (context) => {
  const changes = { maxInProgress: 1, maxWaiting: 0, pauseMs: () => 60_000 }
  const service = await startTestService(context, {}, { limits: { changes } })
  const purchase = await preparePurchase(service)
  const other = await createTenant(service)
  const ofOther = await preparePurchase(service, {}, other.sandboxKey)
  const amend = (mandateId: string, version: number, key = service.sandboxKey) =>
    service.call('PATCH', `/v1/mandates/${mandateId}`, {
      body: { purpose: `Version ${version}` },
      headers: { 'if-match': `"${version}"` },
      key,
    })
  assert.equal((await amend(purchase.mandateId, 1)).status, 200)
  const paced = await amend(purchase.mandateId, 2)
  assert.deepEqual([paced.status, paced.body], [429, { detail: 'rate_limited' }])
  assert.equal((await amend(ofOther.mandateId, 1, other.sandboxKey)).status, 200)
  assert.equal((await askForProof(service, purchase, '1.00')).status, 201)
  const paused = await service.call('PATCH', `/mandates/${purchase.mandateId}/pause`)
  assert.equal(paused.body.status, 'paused', paused.text)
})

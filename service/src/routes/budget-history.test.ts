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

test('An account pauses between changes of limits, which may count many payments; nothing else waits for that', async (context) => {
  const limitChanges = { maxInProgress: 1, maxWaiting: 0, pauseMs: () => 60_000 }
  const service = await startTestService(context, {}, { limits: { limitChanges } })
  const { mandateId, ...purchase } = await preparePurchase(service)
  const other = await createTenant(service)
  const ofOther = await preparePurchase(service, {}, other.sandboxKey)
  const amend = (version: number, body: object, id = mandateId, key = service.sandboxKey) =>
    service.call('PATCH', `/v1/mandates/${id}`, { body, headers: { 'if-match': `"${version}"` }, key })
  const limits = [{ window: 'lifetime', max_amount: '50.00' }]
  const budget = await service.call('POST', '/v1/budgets', { body: { name: 'Research', limits } })
  assert.equal((await amend(1, { limits })).status, 200)
  const paced = await amend(2, { limits: [] })
  assert.deepEqual([paced.status, paced.body], [429, { detail: 'rate_limited' }])
  const ofBudget = await service.call('PATCH', `/v1/budgets/${budget.body.id}`, {
    body: { limits },
    headers: { 'if-match': '"1"' },
  })
  assert.equal(ofBudget.status, 429)
  assert.equal((await amend(1, { limits }, ofOther.mandateId, other.sandboxKey)).status, 200)
  assert.equal((await amend(2, { purpose: 'Maps' })).status, 200)
  assert.equal((await askForProof(service, { ...purchase, mandateId }, '1.00')).status, 201)
})

test('A change of limits that waited for its turn is refused if its key was revoked meanwhile', async (context) => {
  const limitChanges = { maxInProgress: 1, maxWaiting: 1, pauseMs: () => 1_000 }
  const service = await startTestService(context, {}, { limits: { limitChanges } })
  const { mandateId } = await preparePurchase(service)
  const issued = await service.call('POST', '/accounts/api-keys', {
    body: { role: 'owner', environment: 'sandbox' },
  })
  const limits = [{ window: 'lifetime', max_amount: '50.00' }]
  const amend = (version: number, key = service.sandboxKey) =>
    service.call('PATCH', `/v1/mandates/${mandateId}`, {
      body: { limits },
      headers: { 'if-match': `"${version}"` },
      key,
    })
  assert.equal((await amend(1)).status, 200)
  const waiting = amend(2, issued.body.key)
  const revoked = await service.call('DELETE', `/accounts/api-keys/${issued.body.id}`)
  assert.ok(revoked.status < 300, revoked.text)
  assert.equal((await waiting).status, 401)
})

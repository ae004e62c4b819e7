import assert from 'node:assert/strict'
import { test } from 'node:test'

import { LedgerTenant } from '../../../../../testing/ledger-tenant.ts'
import { MemoryDatabase } from '../../../../../testing/memory/memory-database.ts'
import { changeTransactions } from '../../../../../testing/transactions.ts'
import type { Limit } from '../../../../domain/limits.ts'
import { createIds } from '../../../../ids.ts'
import { Ledger } from '../../ledger.ts'
import { budgetUsage, type BudgetUsageRow } from '../../tables.ts'
import { authorize, voidAuthorized } from '../authorizations.ts'
import { issueProof } from '../payments.ts'
import { changeBudget } from './budget-changes.ts'

const limit: Limit = {
  id: 'limit_2',
  window: 'lifetime',
  maxAmountText: '0.50',
  maxAmountMicro: '500000',
  maxCount: null,
  per: null,
  action: 'deny',
}

test('A cut of a shared budget and its first payment in another process do not both succeed', async () => {
  const database = new MemoryDatabase()
  let beforeCommit: (() => Promise<void>) | undefined
  const paused = changeTransactions(database, (transaction) => ({
    commit: async (changes) => {
      await beforeCommit?.()
      await transaction.commit(changes)
    },
  }))
  const stopwatch = { nowMs: () => performance.now(), sleep: () => new Promise<void>(setImmediate) }
  const [ledger, other] = [paused, database].map((driver) => {
    return new Ledger({ driver, stopwatch, random: () => 0 })
  }) as [Ledger, Ledger]
  const clock = { ms: Date.now() }
  const tenant = await LedgerTenant.create({ ledger, ids: createIds(() => clock.ms), clock })
  const id = await tenant.budget()
  const mandateId = await tenant.mandate(undefined, { budgetPath: [id] })

  let proof: Promise<{ readonly decision: string }> | undefined
  beforeCommit = async () => {
    beforeCommit = undefined
    proof = other.run(issueProof, { hold: tenant.hold(mandateId) })
    // It is answered now, or waits for the budget.
    for (let turn = 0; turn < 20; turn++) await stopwatch.sleep()
  }
  const { accountId, environment } = tenant.caller
  const change = { expectedVersion: 1, name: undefined, limits: [limit], endsHolds: false }
  const call = [{ accountId, environment, id }, change, tenant.event('budget.changed', id)] as const
  const { outcome } = await ledger.run(changeBudget, [...call])
  assert.deepEqual({ outcome, decision: (await proof)?.decision }, { outcome: 'changed', decision: 'denied' })
})

test('An added limit counts every authorized payment, also if others of the same mandate end in its batch', async () => {
  const database = new MemoryDatabase()
  const stopwatch = { nowMs: () => performance.now(), sleep: () => new Promise<void>(setImmediate) }
  const ledger = new Ledger({ driver: database, stopwatch, random: () => 0, maxBatch: 1_000 })
  const clock = { ms: Date.now() }
  const tenant = await LedgerTenant.create({ ledger, ids: createIds(() => clock.ms), clock })
  const { accountId, environment } = tenant.caller
  const id = await tenant.budget()
  // With so many mandates, at first about a hundred payments of each are read.
  const mandateIds = await Promise.all(
    Array.from({ length: 400 }, () => tenant.mandate(undefined, { budgetPath: [id] })),
  )
  const held = await Promise.all(Array.from({ length: 110 }, () => tenant.proof(mandateIds[0]!)))
  const ofMerchant = (nonce: string) => ({ event: tenant.event('payment.authorized', nonce) })
  for (const hold of held) {
    const call = { ...tenant.captureCall(hold), captureSeconds: 86_400, ...ofMerchant(hold.nonce) }
    assert.equal((await ledger.run(authorize, call)).outcome, 'authorized')
  }
  clock.ms += 3_600_000
  await Promise.all(mandateIds.map((mandateId) => tenant.proof(mandateId)))

  const [first, second] = held.map(({ nonce }) => {
    const call = { payerId: accountId, caller: tenant.caller, nonce, nowMs: clock.ms, ...ofMerchant(nonce) }
    return () => ledger.run(voidAuthorized, call)
  })
  const added: Limit = {
    ...limit,
    window: { rollingSeconds: 86_400 },
    maxAmountText: '1000.00',
    maxAmountMicro: '1000000000',
  }
  const change = { expectedVersion: 1, name: undefined, limits: [added], endsHolds: false }
  const call = [{ accountId, environment, id }, change, tenant.event('budget.changed', id)] as const
  const [, , changed] = await Promise.all([first!(), second!(), ledger.run(changeBudget, [...call])])
  assert.equal(changed.outcome, 'changed')
  const [usage] = database.rowsOf(budgetUsage) as unknown as BudgetUsageRow[]
  const counts = usage?.counted['limit_2']?.map(([, amountMicro, count]) => [amountMicro, count])
  assert.deepEqual(counts, [
    ['108000000', 108],
    ['400000000', 400],
  ])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { LedgerTenant } from '../../../../../testing/ledger-tenant.ts'
import { MemoryDatabase } from '../../../../../testing/memory/memory-database.ts'
import { changeTransactions } from '../../../../../testing/transactions.ts'
import type { Limit } from '../../../../domain/limits.ts'
import { createIds } from '../../../../ids.ts'
import { Ledger } from '../../ledger.ts'
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

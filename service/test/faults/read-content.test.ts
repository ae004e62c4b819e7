import assert from 'node:assert/strict'
import { test } from 'node:test'

import { createIds } from '../../src/ids.ts'
import { Ledger } from '../../src/store/ledger/ledger.ts'
import { MemoryDatabase } from '../../testing/memory/memory-database.ts'
import { freezeBudget } from '../../src/store/ledger/operations/limits/budgets.ts'
import { LedgerTenant } from '../../testing/ledger-tenant.ts'
import { readContent } from './read-content.ts'

test('A payment that a frozen budget has ended is void, although its row has not changed', async () => {
  const clock = { ms: 1_000_000 }
  const database = new MemoryDatabase()
  const stopwatch = { nowMs: () => 0, sleep: () => Promise.resolve() }
  const ledger = new Ledger({ driver: database, stopwatch, random: () => 0 })
  const tenant = await LedgerTenant.create({ ledger, ids: createIds(() => clock.ms), clock })
  const { accountId, environment } = tenant.caller
  const budgetId = await tenant.budget()
  await tenant.proof(await tenant.mandate())
  await tenant.proof(await tenant.mandate(undefined, { budgetPath: [budgetId] }))
  const read = () => {
    const options = { readAtMs: clock.ms, sweptUntilMs: clock.ms }
    const { holds, mandates } = readContent((table) => database.rowsOf(table), options)
    return {
      statuses: holds.map(({ status }) => status),
      heldMicro: mandates.map(({ heldMicro }) => heldMicro),
    }
  }
  assert.deepEqual(read(), { statuses: ['open', 'open'], heldMicro: [1_000_000n, 1_000_000n] })
  const event = tenant.event('budget.frozen', budgetId)
  await tenant.run(freezeBudget, [{ accountId, environment, id: budgetId }, true, event])
  assert.deepEqual(read(), { statuses: ['open', 'voided'], heldMicro: [1_000_000n, 0n] })
})

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { driverBeds } from '../../../../test/simulation/driver-beds.ts'
import { LedgerTenant } from '../../../../testing/ledger-tenant.ts'
import type { Limit } from '../../../domain/limits.ts'
import { createIds } from '../../../ids.ts'
import { Ledger } from '../ledger.ts'
import { createBudget } from '../operations/limits/budgets.ts'
import { amendMandate } from '../operations/amendments.ts'

const dayMs = 24 * 3_600_000

const lastMinutes: Limit = {
  id: 'limit_1',
  window: { rollingSeconds: 600 },
  maxAmountText: null,
  maxAmountMicro: null,
  maxCount: 5,
  per: null,
  action: 'deny',
}

for (const [name, open] of Object.entries(driverBeds)) {
  test(`A shared budget whose mandate left it long ago has no faults: ${name}`, async (context) => {
    const bed = await open()
    context.after(() => bed.close())
    const { driver, findFaults } = bed
    if (!findFaults) return context.skip('it is not recounted with SQL')
    const stopwatch = { nowMs: () => performance.now(), sleep: () => new Promise<void>(setImmediate) }
    const ledger = new Ledger({ driver, stopwatch, random: () => 0 })
    const clock = { ms: Date.UTC(2026, 10, 20, 12, 7, 13) }
    const ids = createIds(() => clock.ms)
    const tenant = await LedgerTenant.create({ ledger, ids, clock })
    const { accountId, environment } = tenant.caller
    const id = ids.next('budget')
    const times = { createdAtMs: clock.ms, updatedAtMs: clock.ms, frozenAtMs: null, version: 1 }
    const budget = {
      accountId,
      environment,
      ...times,
      id,
      name: 'team',
      ancestors: [],
      limits: [lastMinutes],
    }
    await tenant.run(createBudget, [budget, tenant.event('budget.created', id)])
    const mandateId = await tenant.mandate(undefined, { budgetPath: [id] })
    assert.equal((await tenant.capture(await tenant.proof(mandateId))).outcome, 'captured')

    const left = await tenant.run(amendMandate, [
      { accountId, environment, id: mandateId },
      {},
      { terms: { budgetPath: null }, expectedVersion: 1, mayWiden: true, endsHolds: false },
      tenant.event('mandate.amended', mandateId),
    ])
    assert.equal(left.outcome, 'amended')
    clock.ms += 40 * dayMs
    assert.equal((await tenant.capture(await tenant.proof(mandateId))).outcome, 'captured')
    assert.deepEqual(await findFaults(), [])
  })
}

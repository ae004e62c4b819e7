import assert from 'node:assert/strict'
import { test } from 'node:test'

import { openMemoryLedger, scope } from '../../../../../testing/memory-ledger.ts'
import type { Limit } from '../../../../domain/limits.ts'
import { auditEvents, budgets, mandates } from '../../tables.ts'
import { amendMandate } from '../amendments.ts'
import { changeBudget } from './budget-changes.ts'
import { createBudget } from './budgets.ts'

const times = { createdAtMs: 1, updatedAtMs: 1, frozenAtMs: null, version: 1 }

test('A limit that only notifies is reported again once its max is changed, and not by other changes', async () => {
  for (const kind of ['mandate', 'budget'] as const) {
    const ledger = await openMemoryLedger()
    const budget = { ...scope, ...times, id: 'budget_1', name: 'Team', ancestors: [], limits: [] }
    const own = kind === 'mandate' ? [notifiesAbove(1)] : []
    const shared = kind === 'budget' ? [notifiesAbove(1)] : []
    await ledger.run(createBudget, [{ ...budget, limits: shared }, ledger.event('budget.created', budget.id)])
    const mandate = await ledger.mandate({ limits: own, budgetPath: [budget.id] })
    const change = async (limits: readonly Limit[]) => {
      if (kind === 'mandate') {
        const { version } = ledger.row(mandates, mandate)
        const amendment = { terms: { limits }, expectedVersion: version, mayWiden: true, endsHolds: false }
        const event = ledger.event('mandate.amended', mandate.id)
        const { outcome } = await ledger.run(amendMandate, [mandate, {}, amendment, event])
        assert.equal(outcome, 'amended')
      } else {
        const { version } = ledger.row(budgets, budget)
        const event = ledger.event('budget.changed', budget.id)
        const changed = { expectedVersion: version, limits, endsHolds: false }
        const { outcome } = await ledger.run(changeBudget, [{ ...scope, id: budget.id }, changed, event])
        assert.equal(outcome, 'changed')
      }
    }
    const reported = () =>
      ledger
        .rows(auditEvents)
        .filter(({ type }) => type === 'limit.exceeded')
        .map(({ data }) => data['max'])

    for (let time = 0; time < 3; time++) await ledger.proof(mandate, '1.00')
    assert.deepEqual(reported(), ['1'], kind)
    await change([notifiesAbove(4)])
    for (let time = 0; time < 3; time++) await ledger.proof(mandate, '1.00')
    assert.deepEqual(reported(), ['1', '4'], kind)
    await change([notifiesAbove(4), { ...notifiesAbove(50), id: 'limit_2', window: { rollingSeconds: 60 } }])
    await ledger.proof(mandate, '1.00')
    assert.deepEqual(reported(), ['1', '4'], kind)
  }
})

function notifiesAbove(maxCount: number): Limit {
  const noAmount = { maxAmountText: null, maxAmountMicro: null }
  return { id: 'limit_1', window: 'lifetime', ...noAmount, maxCount, per: null, action: 'notify' }
}

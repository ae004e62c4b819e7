import assert from 'node:assert/strict'
import { test } from 'node:test'

import { openMemoryLedger, scope, type MemoryLedger } from '../../../../testing/memory-ledger.ts'
import type { Limit } from '../../../domain/limits.ts'
import type { Mandate } from '../../../domain/records.ts'
import { agents, budgetUsage, mandates, subjectUsage } from '../tables.ts'
import { amendMandate } from './amendments.ts'
import { changeBudget } from './limits/budget-changes.ts'
import { assignAgent, createBudget } from './limits/budgets.ts'

// Every payment reads and writes what its mandate counts: it must not grow with what the owner changed before.

const changes = 20

test('A subject keeps no counts of limits that its mandate no longer has', async () => {
  const ledger = await openMemoryLedger()
  const mandate = await ledger.mandate()
  await ledger.proof(mandate, '1.00')
  for (let version = 1; version <= changes; version++) {
    await amend(ledger, mandate, version, { per: 'seller' })
    await ledger.proof(mandate, '1.00')
  }
  const subject = { accountId: scope.accountId, mandateId: mandate.id, subject: 'seller:shop.example' }
  const { counted, open } = ledger.row(subjectUsage, subject)
  const current = ledger.row(mandates, mandate).limits?.map(({ id }) => id)
  assert.deepEqual([Object.keys(counted), Object.keys(open)], [current, current])
  assert.equal(counted[current![0]!]?.[0]?.[2], changes + 1)
})

test('A mandate keeps no report of a limit that it no longer has', async () => {
  const ledger = await openMemoryLedger()
  const mandate = await ledger.mandate()
  for (let version = 1; version <= changes; version++) {
    await amend(ledger, mandate, version, { action: 'notify' })
    await ledger.proof(mandate, '2.00')
  }
  const { limits, usage } = ledger.row(mandates, mandate)
  assert.deepEqual(
    Object.keys(usage?.reported ?? {}),
    limits?.map(({ id }) => id),
  )
})

test('A shared budget and the mandates below it keep neither counts nor reports of limits that it no longer has', async () => {
  const ledger = await openMemoryLedger()
  const budget = await createBelow(ledger, 'budget_1')
  const mandate = await ledger.mandate()
  await ledger.proof(mandate, '2.00')
  let last = ''
  for (let version = 1; version <= changes; version++) {
    const limit = newLimit(ledger, version, { action: 'notify' })
    const change = { expectedVersion: version, limits: [limit], endsHolds: false }
    const event = ledger.event('budget.changed', budget.id)
    assert.equal((await ledger.run(changeBudget, [budget, change, event])).outcome, 'changed')
    await ledger.proof(mandate, '1.00')
    last = limit.id
  }
  const { counted, reported } = ledger.row(budgetUsage, { ...scope, budgetId: budget.id })
  const { usage } = ledger.row(mandates, mandate)
  const kept = [counted, reported, usage?.budgets[budget.id]?.open].map((one) => Object.keys(one ?? {}))
  assert.deepEqual(kept, [[last], [last], [last]])
})

test('The open proofs of a mandate that was moved through more than a hundred shared budgets end', async () => {
  const ledger = await openMemoryLedger()
  const mandate = await ledger.mandate()
  const first = await ledger.proof(mandate, '0.10')
  for (let made = 1; made <= 101; made++) {
    await createBelow(ledger, `budget_${made}`)
    await ledger.proof(mandate, '0.10')
  }
  assert.equal(ledger.row(mandates, mandate).openPayments, 102)
  const next = await ledger.proof(mandate, '0.10')
  const { openPayments, heldMicro, usage } = ledger.row(mandates, mandate)
  assert.deepEqual(
    [openPayments, heldMicro, Object.keys(usage?.budgets ?? {})],
    [1, 100_000n, ['budget_101']],
  )
  assert.deepEqual(await ledger.capture(first), { outcome: 'failed', reason: 'proof_expired' })
  assert.equal((await ledger.capture(next)).outcome, 'captured')
})

/** Replaces the only limit of a mandate by another one. */
async function amend(ledger: MemoryLedger, mandate: Mandate, version: number, fields: Partial<Limit>) {
  const terms = { limits: [newLimit(ledger, version, fields)] }
  const amendment = { terms, expectedVersion: version, mayWiden: true, endsHolds: false }
  const event = ledger.event('mandate.amended', mandate.id)
  assert.equal((await ledger.run(amendMandate, [mandate, {}, amendment, event])).outcome, 'amended')
}

/** A limit whose window no other one has. */
function newLimit(ledger: MemoryLedger, version: number, fields: Partial<Limit>): Limit {
  const max = { maxAmountText: null, maxAmountMicro: null, maxCount: fields.action === 'notify' ? 1 : 1_000 }
  const window = { rollingSeconds: 3_600 + version }
  return { id: ledger.nextId('limit'), window, ...max, per: null, action: 'deny', ...fields }
}

/** A new shared budget above the agent. */
async function createBelow(ledger: MemoryLedger, id: string) {
  const times = { createdAtMs: ledger.clock.nowMs, updatedAtMs: ledger.clock.nowMs, frozenAtMs: null }
  const budget = { ...scope, ...times, id, name: 'team', ancestors: [], limits: [], version: 1 }
  await ledger.run(createBudget, [budget, ledger.event('budget.created', id)])
  const event = ledger.event('agent.budget_changed', ledger.agent.id)
  await ledger.run(assignAgent, [ledger.agent, { budgetId: id }, event])
  assert.deepEqual(ledger.row(agents, ledger.agent).budgetPath, [id])
  return budget
}

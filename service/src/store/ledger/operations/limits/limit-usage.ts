import { usageOf, type LimitFacts } from '../../../../domain/limits.ts'
import type { ProposedBooking } from '../../../store.ts'
import { look, operation, portOperation, unchanged, type Facts, type Read } from '../../operation.ts'
import { agents, budgets, budgetUsage, mandates, type AgentRow, type MandateRow } from '../../tables.ts'
import { bookingReads, Bookings, isCounted, isEndedByBudget } from '../bookings.ts'
import { endPayments, expiredReads, releaseExpired } from '../ended-payments.ts'

// Limit usage read without a lock: for answers, and for decisions that hold nothing.

/** The first reads of `proposedLimits`. */
export function proposalReads(
  { resourceUrl, atMs }: ProposedBooking,
  mandate: MandateRow,
  agent: AgentRow | undefined,
): readonly Read[] {
  if (!isCounted(mandate, agent)) return []
  const reads = [...bookingReads(mandate, [], { agent, resourceUrl }), ...expiredReads(mandate, atMs)]
  return reads.map((read) => ({ ...read, isLocked: false }))
}

/** What checks 10 and 11 compare, without the mandate's payments that have ended but are not released yet. */
export function proposedLimits(proposed: ProposedBooking, facts: Facts): LimitFacts | undefined {
  const { accountId, agentId, mandateId, resourceUrl, atMs } = proposed
  const mandate = facts.row(mandates, { accountId, id: mandateId })
  if (!mandate) return undefined
  const agent = facts.row(agents, { accountId, id: agentId })
  if (!isCounted(mandate, agent)) return undefined
  facts.read(proposalReads(proposed, mandate, agent))
  const seen = withoutLocks(facts)
  const bookings = new Bookings(mandate, seen)
  if (isEndedByBudget(mandate, seen)) endPayments(bookings, seen, atMs)
  else releaseExpired(bookings, seen, atMs)
  return bookings.limitFacts({ resourceUrl, nowMs: atMs }, agent)
}

function withoutLocks(facts: Facts): Facts {
  return {
    isRerun: facts.isRerun,
    row: (table, key) => facts.row(table, key),
    written: (table, key) => facts.written(table, key),
    lockedRow: (table, key) => facts.row(table, key),
    rows: (range) => facts.rows(range),
    read: (reads) => facts.read(reads.map((read) => ({ ...read, isLocked: false }))),
    each: (items, work) => facts.each(items, work),
  }
}

export const readLimits = operation<ProposedBooking, LimitFacts | undefined>('readLimits', {
  reads: (proposed) => [
    look(agents, { accountId: proposed.accountId, id: proposed.agentId }),
    look(mandates, { accountId: proposed.accountId, id: proposed.mandateId }),
  ],
  decide: (proposed, facts) => unchanged(proposedLimits(proposed, facts)),
})

export const readMandateUsage = portOperation('readMandateUsage', {
  reads: ([mandate]) => [look(mandates, mandate)],

  decide([key, atMs], facts) {
    const mandate = facts.row(mandates, key)
    if (mandate?.environment !== key.environment) return unchanged([])
    const { accountId, agentId, id: mandateId } = mandate
    const found = proposedLimits({ accountId, agentId, mandateId, resourceUrl: '', atMs }, facts)
    if (!found) return unchanged([])
    return unchanged([
      ...found.own.map((one) => usageOf(one, { scope: 'mandate', scopeId: mandateId }, found.atMs)),
      ...found.budgets.flatMap(({ id, limits }) =>
        limits.map((one) => usageOf(one, { scope: 'budget', scopeId: id }, found.atMs)),
      ),
    ])
  },
})

export const readBudgetUsage = portOperation('readBudgetUsage', {
  reads: ([key]) => [look(budgets, key), look(budgetUsage, { accountId: key.accountId, budgetId: key.id })],

  decide([key, atMs], facts) {
    const budget = facts.row(budgets, key)
    if (budget?.environment !== key.environment) return unchanged([])
    const usage = facts.row(budgetUsage, { accountId: key.accountId, budgetId: key.id })
    const bookedAtMs = Math.max(atMs, usage?.bookedAtMs ?? 0)
    return unchanged(
      budget.limits.map((limit) =>
        usageOf({ limit, tally: usage?.counted ?? {} }, { scope: 'budget', scopeId: key.id }, bookedAtMs),
      ),
    )
  },
})

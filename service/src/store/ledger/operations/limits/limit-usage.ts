import { usageOf, type LimitFacts, type LimitUsage } from '../../../../domain/limits.ts'
import type { ProposedBooking, RecordKey } from '../../../store.ts'
import { look, unchanged, type Facts, type Operation, type Read } from '../../operation.ts'
import { agents, budgets, budgetUsage, mandates } from '../../tables.ts'
import { bookingReads, Bookings, isCounted, isEndedByBudget } from '../bookings.ts'
import { endPayments, expiredReads, releaseExpired } from '../ended-payments.ts'

// Limit usage read without a lock: for answers, and for decisions that hold nothing.

/** The reads of `proposedLimits`, once the mandate and its agent are read. */
export function proposalReads(proposed: ProposedBooking, facts: Facts): readonly Read[] {
  const { accountId, agentId, mandateId, resourceUrl, atMs } = proposed
  if (!facts.knows(look(mandates, { accountId, id: mandateId }))) return []
  const mandate = facts.row(mandates, { accountId, id: mandateId })
  const agent = facts.row(agents, { accountId, id: agentId })
  if (!mandate || !isCounted(mandate, agent)) return []
  const counted = bookingReads(mandate, [], { agent, resourceUrl })
  return [...counted, ...expiredReads(mandate, atMs, facts)].map((read) => ({ ...read, isLocked: false }))
}

/** What checks 10 and 11 compare, without the mandate's payments that have ended but are not released yet. */
export function proposedLimits(proposed: ProposedBooking, facts: Facts): LimitFacts | undefined {
  const { accountId, agentId, mandateId, resourceUrl, atMs } = proposed
  const mandate = facts.row(mandates, { accountId, id: mandateId })
  if (!mandate) return undefined
  const agent = facts.row(agents, { accountId, id: agentId })
  if (!isCounted(mandate, agent)) return undefined
  const bookings = new Bookings(mandate, facts)
  if (isEndedByBudget(mandate, facts)) endPayments(bookings, facts, atMs)
  else releaseExpired(bookings, facts, atMs)
  return bookings.limitFacts({ resourceUrl, nowMs: atMs }, agent)
}

/** What checks 10 and 11 would compare for a payment. */
export const readLimits: Operation<ProposedBooking, LimitFacts | undefined> = {
  name: 'readLimits',
  reads: (proposed, facts) => [
    look(agents, { accountId: proposed.accountId, id: proposed.agentId }),
    look(mandates, { accountId: proposed.accountId, id: proposed.mandateId }),
    ...proposalReads(proposed, facts),
  ],
  decide: (proposed, facts) => unchanged(proposedLimits(proposed, facts)),
}

export interface UsageQuestion {
  readonly mandate: RecordKey
  readonly atMs: number
}

/** The usage of the limits of a mandate and of its budgets. */
export const readMandateUsage: Operation<UsageQuestion, readonly LimitUsage[]> = {
  name: 'readMandateUsage',

  reads({ mandate: key, atMs }, facts) {
    const mandate = facts.knows(look(mandates, key)) ? facts.row(mandates, key) : undefined
    if (!mandate) return [look(mandates, key)]
    const agentKey = { accountId: key.accountId, id: mandate.agentId }
    const reads = [look(mandates, key), look(agents, agentKey)]
    if (!facts.knows(look(agents, agentKey))) return reads
    const { agentId, id: mandateId, accountId } = mandate
    return [...reads, ...proposalReads({ accountId, agentId, mandateId, resourceUrl: '', atMs }, facts)]
  },

  decide({ mandate: key, atMs }, facts) {
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
}

export interface BudgetQuestion {
  readonly budget: RecordKey
  readonly atMs: number
}

/** The usage of the limits of a budget. */
export const readBudgetUsage: Operation<BudgetQuestion, readonly LimitUsage[]> = {
  name: 'readBudgetUsage',

  reads: ({ budget: key }) => [
    look(budgets, key),
    look(budgetUsage, { accountId: key.accountId, budgetId: key.id }),
  ],

  decide({ budget: key, atMs }, facts) {
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
}

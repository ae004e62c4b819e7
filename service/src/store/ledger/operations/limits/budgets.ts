import type { Scope } from '../../../../domain/records.ts'
import { lock, portOperation, put, unchanged, type Facts } from '../../operation.ts'
import { toAgent, toBudget } from '../../reads/records.ts'
import { agents, auditEvents, budgets, budgetUsage, type BudgetRow } from '../../tables.ts'
import { creationOf, creationReads, earlierCreation } from '../creations.ts'

/** Max depth of nested budgets. */
const maxLevels = 4

/** The path of a record below a budget; null for none. */
export function pathBelow(
  id: string | null | undefined,
  { accountId, environment }: Scope,
  facts: Facts,
): readonly string[] | null | 'budget_not_found' {
  if (id === null || id === undefined) return null
  const budget = facts.row(budgets, { accountId, id })
  return budget?.environment === environment ? [id, ...budget.ancestors] : 'budget_not_found'
}

export const createBudget = portOperation('createBudget', {
  reads: ([budget, , attempt]) => creationReads(budget, attempt),

  decide([budget, event, attempt], facts) {
    const written = facts.written(budgets, budget)
    if (written) return unchanged(toBudget(written))
    const earlierId = earlierCreation(budget, attempt, facts)
    if (earlierId === 'idempotency_key_reused') return unchanged(earlierId)
    const earlier = earlierId && facts.row(budgets, { accountId: budget.accountId, id: earlierId })
    if (earlier) return unchanged({ replayed: toBudget(earlier) })
    const ancestors = pathBelow(budget.ancestors[0], budget, facts)
    if (ancestors === 'budget_not_found') return unchanged(ancestors)
    if (ancestors && ancestors.length >= maxLevels) return unchanged('budget_too_deep')
    const parentId = ancestors?.[0] ?? null
    const row = { ...budget, parentId, ancestors: ancestors ?? [], epoch: 0, endedAtMs: null }
    const { accountId, id: budgetId } = budget
    // A missing row could not be locked: a change of the budget would not see its first payment.
    const usage = { accountId, budgetId, bookedAtMs: 0, counted: {}, reported: null }
    return {
      outcome: toBudget(row),
      changes: [
        put(budgets, row),
        put(budgetUsage, usage),
        put(auditEvents, event),
        ...creationOf(budget, attempt),
      ],
    }
  },
})

export const freezeBudget = portOperation('freezeBudget', {
  reads: ([key]) => [lock(budgets, key)],

  decide([key, isFrozen, event], facts) {
    const budget = facts.row(budgets, key)
    if (budget?.environment !== key.environment) return unchanged('not_found')
    if ((budget.frozenAtMs !== null) === isFrozen || facts.written(auditEvents, event)) {
      return unchanged(toBudget(budget))
    }
    const atMs = event.createdAtMs
    const changed = isFrozen
      ? { ...endOpen(budget, atMs), frozenAtMs: atMs, updatedAtMs: atMs }
      : { ...budget, endedAtMs: lastEnd(budget, atMs), frozenAtMs: null, updatedAtMs: atMs }
    return { outcome: toBudget(changed), changes: [put(budgets, changed), put(auditEvents, event)] }
  },
})

/** The budget after all open payments below it have ended: those of an earlier epoch cannot be captured. */
export function endOpen(budget: BudgetRow, atMs: number): BudgetRow {
  return { ...budget, epoch: budget.epoch + 1, endedAtMs: lastEnd(budget, atMs) }
}

/** Until when open payments have ended: those of mandates and agents that are assigned during a freeze end until its end. */
function lastEnd({ endedAtMs }: BudgetRow, atMs: number): number {
  return Math.max(atMs, endedAtMs ?? 0)
}

/**
 * When open payments last ended below the budgets that an agent or a mandate leaves: now, if one of them is frozen; 0 for
 * never. Captures look only at the current path, so without this time the payments would become valid again.
 */
export function endedBelowLeft(
  before: readonly string[] | null,
  after: readonly string[] | null,
  { accountId, nowMs }: { readonly accountId: string; readonly nowMs: number },
  facts: Facts,
): number {
  const left = (before ?? []).filter((id) => !after?.includes(id))
  const times = left.map((id) => {
    const { frozenAtMs, endedAtMs } = facts.row(budgets, { accountId, id })!
    return frozenAtMs === null ? (endedAtMs ?? 0) : nowMs
  })
  return Math.max(0, ...times)
}

/** Payments that were booked before keep counting where they were booked. */
export const assignAgent = portOperation('assignAgent', {
  reads: ([key]) => [lock(agents, key)],

  decide([key, { budgetId, expectedId }, event], facts) {
    const agent = facts.row(agents, key)
    if (agent?.environment !== key.environment) return unchanged('not_found')
    const budgetPath = pathBelow(budgetId, key, facts)
    if (budgetPath === 'budget_not_found') return unchanged(budgetPath)
    const current = agent.budgetPath?.[0] ?? null
    if (current === budgetId || facts.written(auditEvents, event)) return unchanged(toAgent(agent))
    if (expectedId !== undefined && expectedId !== current) return unchanged('version_mismatch')
    const { endedAtMs: earlierMs } = agent
    const left = endedBelowLeft(agent.budgetPath, budgetPath, { ...key, nowMs: event.createdAtMs }, facts)
    const endedAtMs = left === 0 ? earlierMs : Math.max(left, earlierMs + 1)
    const assigned = { ...agent, budgetPath, endedAtMs }
    return { outcome: toAgent(assigned), changes: [put(agents, assigned), put(auditEvents, event)] }
  },
})

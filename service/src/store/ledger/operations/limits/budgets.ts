import type { AuditEvent, Budget, Scope } from '../../../../domain/records.ts'
import type { RecordKey } from '../../../store.ts'
import { lock, put, unchanged, type Facts, type Operation } from '../../operation.ts'
import { agents, auditEvents, budgets, type AgentRow, type BudgetRow } from '../../tables.ts'

/** Max depth of nested budgets. */
export const maxLevels = 4

/** The whole path of a record that names its budget; null for none. */
export function pathOf(
  { accountId, environment, budgetPath }: PathHolder,
  facts: Facts,
): readonly string[] | null | 'budget_not_found' {
  const [id] = budgetPath ?? []
  if (id === undefined) return null
  const budget = facts.row(budgets, { accountId, id })
  return budget?.environment === environment ? [id, ...budget.ancestors] : 'budget_not_found'
}

type PathHolder = Scope & { readonly budgetPath: readonly string[] | null }

export interface NewBudget {
  /** Its `ancestors` name only its parent; the budgets above that are added. */
  readonly budget: Budget
  readonly event: AuditEvent
}

export const createBudget: Operation<NewBudget, BudgetRow | 'budget_not_found' | 'budget_too_deep'> = {
  name: 'createBudget',

  reads: () => [],

  decide({ budget, event }, facts) {
    const earlier = facts.isRerun ? facts.row(budgets, budget) : undefined
    if (earlier) return unchanged(earlier)
    const ancestors = pathOf(withParent(budget), facts)
    if (ancestors === 'budget_not_found') return unchanged(ancestors)
    if (ancestors && ancestors.length >= maxLevels) return unchanged('budget_too_deep')
    const parentId = ancestors?.[0] ?? null
    const row = { ...budget, parentId, ancestors: ancestors ?? [], epoch: 0, endedAtMs: null }
    return { outcome: row, changes: [put(budgets, row), put(auditEvents, event)] }
  },
}

function withParent({ accountId, environment, ancestors }: Budget): PathHolder {
  return { accountId, environment, budgetPath: ancestors }
}

export interface BudgetFreeze {
  readonly budget: RecordKey
  readonly isFrozen: boolean
  readonly event: AuditEvent
}

/** Freezes a budget, which ends all open payments below it with a new epoch, or unfreezes it. */
export const freezeBudget: Operation<BudgetFreeze, BudgetRow | 'not_found'> = {
  name: 'freezeBudget',

  reads: ({ budget: key }) => [lock(budgets, key)],

  decide({ budget: key, isFrozen, event }, facts) {
    const budget = facts.row(budgets, key)
    if (budget?.environment !== key.environment) return unchanged('not_found')
    if ((budget.frozenAtMs !== null) === isFrozen) return unchanged(budget)
    const atMs = event.createdAtMs
    const changed = isFrozen
      ? { ...endOpen(budget, atMs), frozenAtMs: atMs, updatedAtMs: atMs }
      : { ...budget, frozenAtMs: null, updatedAtMs: atMs }
    return { outcome: changed, changes: [put(budgets, changed), put(auditEvents, event)] }
  },
}

/** The budget after all open payments below it have ended: those of an earlier epoch cannot be captured. */
export function endOpen(budget: BudgetRow, atMs: number): BudgetRow {
  return { ...budget, epoch: budget.epoch + 1, endedAtMs: atMs }
}

export interface AgentBudget {
  readonly agent: RecordKey
  readonly budgetId: string | null
  readonly event: AuditEvent
}

/** Assigns an agent to a budget. Payments that were booked before keep counting where they were booked. */
export const assignAgent: Operation<AgentBudget, AgentRow | 'not_found' | 'budget_not_found'> = {
  name: 'assignAgent',

  reads: ({ agent: key }) => [lock(agents, key)],

  decide({ agent: key, budgetId, event }, facts) {
    const agent = facts.row(agents, key)
    if (agent?.environment !== key.environment) return unchanged('not_found')
    const budgetPath = pathOf(holderOf(key, budgetId), facts)
    if (budgetPath === 'budget_not_found') return unchanged(budgetPath)
    if ((agent.budgetPath?.[0] ?? null) === budgetId) return unchanged(agent)
    const assigned = { ...agent, budgetPath }
    return { outcome: assigned, changes: [put(agents, assigned), put(auditEvents, event)] }
  },
}

function holderOf({ accountId, environment }: RecordKey, budgetId: string | null): PathHolder {
  return { accountId, environment, budgetPath: budgetId === null ? null : [budgetId] }
}

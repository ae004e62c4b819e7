import { toWireLimit } from '../../../../domain/limit-terms.ts'
import { committedAt, exceedsMax, usageOf, type Limit, type LimitUsage } from '../../../../domain/limits.ts'
import type { AuditEvent, Budget, Scope } from '../../../../domain/records.ts'
import type { BudgetChange, BudgetChangeOutcome, RecordKey } from '../../../store.ts'
import {
  lock,
  look,
  put,
  unchanged,
  type Decision,
  type Facts,
  type Operation,
  type Read,
} from '../../operation.ts'
import {
  agents,
  auditEvents,
  budgets,
  budgetUsage,
  type AgentRow,
  type BudgetRow,
  type BudgetUsageRow,
} from '../../tables.ts'

/** Max budgets above each other. */
export const maxLevels = 4

/** The reads of `pathOf`. */
export function readsOfPath({ accountId, budgetPath }: PathHolder): readonly Read[] {
  const [id] = budgetPath ?? []
  return id === undefined ? [] : [look(budgets, { accountId, id })]
}

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

  reads: ({ budget }, facts) => [
    ...readsOfPath(withParent(budget)),
    ...(facts.isRerun ? [look(budgets, budget)] : []),
  ],

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
function endOpen(budget: BudgetRow, atMs: number): BudgetRow {
  return { ...budget, epoch: budget.epoch + 1, endedAtMs: atMs }
}

export interface BudgetChangeCall extends BudgetChange {
  readonly budget: RecordKey
  readonly event: AuditEvent
}

type ChangeOutcome =
  | { readonly outcome: 'changed'; readonly budget: BudgetRow }
  | Exclude<BudgetChangeOutcome, { readonly outcome: 'changed' }>

/** Changes the name and the limits of a budget. */
export const changeBudget: Operation<BudgetChangeCall, ChangeOutcome> = {
  name: 'changeBudget',

  reads: ({ budget: key, event }, facts) => [
    lock(budgets, key),
    lock(budgetUsage, usageKey(key)),
    ...(facts.isRerun ? [look(auditEvents, event)] : []),
  ],

  decide({ budget: key, expectedVersion, seenVersion, name, limits, endsHolds, event }, facts) {
    const budget = facts.row(budgets, key)
    if (budget?.environment !== key.environment) return refused('not_found')
    if (facts.isRerun && facts.row(auditEvents, event)) return unchanged({ outcome: 'changed', budget })
    const wanted = { ...budget, name: name ?? budget.name, limits: limits ?? budget.limits }
    const changed = changesOf(budget, wanted)
    // Also the answer to a retry: RFC 9110 allows it whatever the version.
    if (!changed) return unchanged({ outcome: 'changed', budget })
    if (budget.version !== expectedVersion || budget.version !== seenVersion)
      return refused('version_mismatch')
    const usage = facts.row(budgetUsage, usageKey(key))
    const atMs = event.createdAtMs
    const over = limitBelowCommitted(budget, wanted, usage, atMs)
    if (over && !endsHolds) return unchanged({ outcome: 'below_committed', usage: over })
    const row: BudgetRow = {
      ...(over ? endOpen(wanted, atMs) : wanted),
      version: budget.version + 1,
      updatedAtMs: atMs,
    }
    const kept = usage && withoutOldLimits(usage, row)
    return {
      outcome: { outcome: 'changed', budget: row },
      changes: [
        put(budgets, row),
        ...(kept && kept !== usage ? [put(budgetUsage, kept)] : []),
        put(auditEvents, { ...event, data: { ...event.data, version: row.version, ...changed } }),
      ],
    }
  },
}

function refused(code: 'not_found' | 'version_mismatch'): Decision<ChangeOutcome> {
  return unchanged({ outcome: 'refused', code })
}

/** The name and the limits, as far as they differ, before and after; undefined if they do not. */
function changesOf(before: BudgetRow, after: BudgetRow) {
  const [old, now] = [before, after].map(({ name, limits }) => ({ name, limits: limits.map(toWireLimit) }))
  const names = (['name', 'limits'] as const).filter(
    (name) => JSON.stringify(old![name]) !== JSON.stringify(now![name]),
  )
  if (names.length === 0) return undefined
  const pick = (terms: typeof old) => Object.fromEntries(names.map((name) => [name, terms![name]]))
  return { before: pick(old), after: pick(now) }
}

/** The first limit that is cut below what is committed. */
function limitBelowCommitted(
  before: BudgetRow,
  { id, limits }: BudgetRow,
  usage: BudgetUsageRow | undefined,
  atMs: number,
): LimitUsage | undefined {
  const bookedAtMs = Math.max(atMs, usage?.bookedAtMs ?? 0)
  const tally = usage?.counted ?? {}
  const over = limits.find(
    (limit) => isCut(limit, before.limits) && exceedsMax(limit, committedAt(tally, limit, bookedAtMs)),
  )
  return over && usageOf({ limit: over, tally }, { scope: 'budget', scopeId: id }, bookedAtMs)
}

/** What is counted, without limits that the budget no longer has. */
function withoutOldLimits(usage: BudgetUsageRow, { limits }: BudgetRow): BudgetUsageRow {
  const ids = new Set(limits.map(({ id }) => id))
  const kept = Object.entries(usage.counted).filter(([id]) => ids.has(id))
  if (kept.length === Object.keys(usage.counted).length) return usage
  return { ...usage, counted: Object.fromEntries(kept) }
}

/** Whether a limit is lower than before. A limit that is added cuts nothing. */
function isCut(limit: Limit, before: readonly Limit[]): boolean {
  const old = before.find(({ id }) => id === limit.id)
  if (!old) return false
  const [amount, oldAmount] = [limit.maxAmountMicro, old.maxAmountMicro]
  if (amount !== null && (oldAmount === null || BigInt(amount) < BigInt(oldAmount))) return true
  return limit.maxCount !== null && (old.maxCount === null || limit.maxCount < old.maxCount)
}

function usageKey({ accountId, id: budgetId }: RecordKey) {
  return { accountId, budgetId }
}

export interface AgentBudget {
  readonly agent: RecordKey
  readonly budgetId: string | null
  readonly event: AuditEvent
}

/** Assigns an agent to a budget. Payments that were booked before keep counting where they were booked. */
export const assignAgent: Operation<AgentBudget, AgentRow | 'not_found' | 'budget_not_found'> = {
  name: 'assignAgent',

  reads: ({ agent: key, budgetId }) => [lock(agents, key), ...readsOfPath(holderOf(key, budgetId))],

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

import { keepIds, toWireLimit, unchangedLimits } from '../../../../domain/limit-terms.ts'
import { changesBetween } from '../../../../domain/mandate-terms.ts'
import { committedAt, exceedsMax, usageOf, type Limit, type LimitUsage } from '../../../../domain/limits.ts'
import type { BudgetChange, RecordKey } from '../../../store.ts'
import {
  lock,
  look,
  portOperation,
  put,
  refused,
  unchanged,
  type Change,
  type Facts,
} from '../../operation.ts'
import { toBudget } from '../../reads/records.ts'
import {
  auditEvents,
  budgets,
  budgetUsage,
  mandates,
  type BudgetRow,
  type BudgetUsageRow,
  type MandateRow,
} from '../../tables.ts'
import { mandatesIn } from '../mandates.ts'
import { addedLimits, bookedSince, boundRows, countsFromMs, ofLimits, tallyBooked } from './booked-before.ts'
import { endOpen } from './budgets.ts'

/** Max mandates of an environment whose payments an added limit searches. */
const maxMandates = 10_000

/**
 * An added limit counts what was booked in its current period: every mandate of the environment is locked, so
 * that no payment is booked in the meantime.
 */
export const changeBudget = portOperation('changeBudget', {
  reads: ([key]) => [look(budgets, key)],

  decide([key, change, event], facts) {
    const { expectedVersion, name, endsHolds } = change
    const budget = lockedBudget(key, change, facts)
    if (budget?.environment !== key.environment) return refused('not_found')
    if (facts.written(auditEvents, event)) return unchanged(changedTo(budget))
    const wanted = { ...budget, name: name ?? budget.name, limits: limitsOf(budget, change) }
    const changed = changesBetween(termsOf(budget), termsOf(wanted))
    // Also the answer to a retry: RFC 9110 allows it whatever the version.
    if (!changed && !endsHolds) return unchanged(changedTo(budget))
    if (budget.version !== expectedVersion) return refused('version_mismatch')
    const usage = facts.row(budgetUsage, usageKey(key))!
    const atMs = event.createdAtMs
    const over = limitBelowCommitted(budget, wanted, usage, atMs)
    if (over && !endsHolds) return unchanged({ outcome: 'below_committed', usage: over })
    const counted = countEarlier(budget, wanted, { usage, atMs }, facts)
    if (typeof counted === 'string') return refused(counted)
    const row: BudgetRow = {
      ...(endsHolds ? endOpen(wanted, atMs) : wanted),
      version: budget.version + 1,
      updatedAtMs: atMs,
    }
    const data = { ...event.data, version: row.version, ...changed }
    return {
      outcome: changedTo(row),
      changes: [...counted, put(budgets, row), put(auditEvents, { ...event, data })],
    }
  },
})

function changedTo(budget: BudgetRow) {
  return { outcome: 'changed' as const, budget: toBudget(budget) }
}

/** The budget. If limits are added, its mandates are locked before it, as in every operation. */
function lockedBudget(key: RecordKey, change: BudgetChange, facts: Facts): BudgetRow | undefined {
  const seen = facts.row(budgets, key)
  if (seen && addedLimits(limitsOf(seen, change), seen.limits).length > 0) facts.read([mandatesOf(seen)])
  facts.read([lock(budgets, key), lock(budgetUsage, usageKey(key))])
  return facts.row(budgets, key)
}

/** The limits that a change leaves. */
function limitsOf(budget: BudgetRow, { limits }: BudgetChange): readonly Limit[] {
  return limits === undefined ? budget.limits : keepIds(limits, budget.limits)
}

function mandatesOf(of: BudgetRow) {
  return mandatesIn({ of, afterId: '', limit: maxMandates }, { isLocked: true })
}

/** The same mandates, read after the budget is locked: one may have been created before. */
function mandatesAgain(of: BudgetRow) {
  return mandatesIn({ of, afterId: '', limit: maxMandates + 1 })
}

/** The mandates whose payments may count in shared budgets. */
function countedMandates(rows: readonly MandateRow[]): readonly MandateRow[] {
  return rows.filter(({ usage }) => usage !== null)
}

/**
 * What changes in counters: earlier payments count in limits that are added, removed limits are forgotten, and changed ones
 * are reported again.
 */
function countEarlier(
  before: BudgetRow,
  { id, limits }: BudgetRow,
  { usage, atMs }: { readonly usage: BudgetUsageRow; readonly atMs: number },
  facts: Facts,
): readonly Change[] | 'history_too_long' | 'version_mismatch' {
  const kept = {
    ...usage,
    counted: ofLimits(usage.counted, limits),
    reported: usage.reported && ofLimits(usage.reported, unchangedLimits(limits, before.limits)),
  }
  const added = addedLimits(limits, before.limits)
  if (added.length === 0) return [put(budgetUsage, kept)]
  const found = facts.rows(mandatesOf(before))
  if (found.length >= maxMandates) return 'history_too_long'
  const rows = countedMandates(found)
  if (rows.length !== countedMandates(facts.rows(mandatesAgain(before))).length) return 'version_mismatch'
  const bookedAtMs = Math.max(atMs, kept.bookedAtMs)
  const fromMs = countsFromMs(added, atMs)
  const changes: Change[] = []
  let { counted } = kept
  const bounds = boundRows(rows, fromMs, facts)
  if (!bounds) return 'history_too_long'
  facts.each(rows, (mandate) => {
    const booked = bookedSince(mandate, fromMs, facts, undefined, bounds.get(mandate.id)) ?? []
    const own = booked.filter(({ payment }) => payment.budgetPath?.includes(id))
    const open = mandate.usage?.budgets[id]
    const tallies = tallyBooked({ counted, open: ofLimits(open?.open ?? {}, limits) }, added, own, bookedAtMs)
    counted = tallies.counted
    if (!mandate.usage || !open) return
    const shares = { ...mandate.usage.budgets, [id]: { ...open, open: tallies.open } }
    changes.push(put(mandates, { ...mandate, usage: { ...mandate.usage, budgets: shares } }))
  })
  return [...changes, put(budgetUsage, { ...kept, bookedAtMs, counted })]
}

/** The terms of a budget, as its events have them. */
function termsOf({ name, limits }: BudgetRow) {
  return { name, limits: limits.map(toWireLimit) }
}

/** The first limit that is cut below what is committed. */
function limitBelowCommitted(
  before: BudgetRow,
  { id, limits }: BudgetRow,
  usage: BudgetUsageRow,
  atMs: number,
): LimitUsage | undefined {
  const bookedAtMs = Math.max(atMs, usage.bookedAtMs)
  const tally = usage.counted
  const over = limits.find(
    (limit) => isCut(limit, before.limits) && exceedsMax(limit, committedAt(tally, limit, bookedAtMs)),
  )
  return over && usageOf({ limit: over, tally }, { scope: 'budget', scopeId: id }, bookedAtMs)
}

/** Whether a limit is lower than before. An added limit cuts nothing. */
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

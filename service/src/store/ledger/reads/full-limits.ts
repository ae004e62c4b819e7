import { isFull, type Limit, type Tally } from '../../../domain/limits.ts'
import type { Scope } from '../../../domain/records.ts'
import type { FullLimits } from '../../console/store.ts'
import { sql, type Sql } from '../../sql.ts'
import { budgets, budgetUsage, mandates, type MandateUsage } from '../tables.ts'
import type { LedgerReader } from './ledger-reader.ts'
import { findRows, from, idFrom, ids, inScope, jsonFrom, ofAccount, type RawRow } from './rows.ts'

/** How many mandates, and shared budgets, are looked at: those that changed last. */
const maxLookedAt = 1_000

/** How many of those with a full limit are named. */
const maxNamed = 5

interface Limited {
  readonly limits: readonly Limit[]
  readonly usage: { readonly bookedAtMs: number; readonly counted: Tally } | undefined
}

/** The active mandates and the shared budgets with a limit that admits no payment at a time. */
export async function readFullLimits(
  db: LedgerReader,
  scope: Scope,
  { isActive, nowMs }: { readonly isActive: Sql; readonly nowMs: number },
): Promise<FullLimits> {
  const { inTime } = db
  const newest = sql`${inTime} order by updated_at_ms desc limit ${sql.lit(maxLookedAt)}`
  // Lists of sellers, resources and categories may be long: they are not read.
  const { rows: limited } = await sql<RawRow>`
    select id, purpose, limits, usage from ${from(mandates)}
    where ${inScope(scope)} and ${isActive} and limits is not null and usage is not null ${newest}`.execute(
    db,
  )
  const shared = await findRows(db, budgets, sql`${inScope(scope)} and frozen_at_ms is null ${newest}`)
  const budgetIds = shared.map(({ id }) => id)
  const usages = await findRows(
    db,
    budgetUsage,
    sql`${ofAccount(scope.accountId)} and budget_id in (${ids('budget', budgetIds)})`,
  )
  const usageOf = new Map(usages.map((usage) => [usage.budgetId, usage]))
  const isUsedUp = ({ limits, usage }: Limited) =>
    usage !== undefined &&
    limits.some((limit) => isFull({ limit, tally: usage.counted }, Math.max(nowMs, usage.bookedAtMs)))
  const fullMandates = limited.filter(({ limits, usage }) =>
    isUsedUp({
      limits: jsonFrom(mandates, limits as string) as readonly Limit[],
      usage: jsonFrom(mandates, usage as string) as MandateUsage,
    }),
  )
  const fullBudgets = shared.filter(({ id, limits }) => isUsedUp({ limits, usage: usageOf.get(id) }))
  return {
    mandates: fullMandates.length,
    budgets: fullBudgets.length,
    named: [
      ...fullBudgets.map(({ id, name }) => ({ scope: 'budget' as const, id, name })),
      ...fullMandates.map(({ id, purpose }) => ({
        scope: 'mandate' as const,
        id: idFrom('mandate', id),
        name: purpose as string,
      })),
    ].slice(0, maxNamed),
  }
}

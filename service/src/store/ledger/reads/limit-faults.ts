import type { LedgerFault } from '../../store.ts'
import { agents, budgets, budgetUsage, mandates, payments, subjectUsage, type BudgetRow } from '../tables.ts'
import { findRows, from, idFrom, jsonFrom, rowOf, type RawRow } from './rows.ts'
import { recountLimits, type CountedPayments } from './limit-recount.ts'
import { chargedMicro } from './sums.ts'
import { sql, type Reader, type Sql } from '../../sql.ts'

/**
 * Every limit whose counts differ from its payments, and every shared budget that is missing where it is named, from a
 * reader of one snapshot.
 */
export async function findLimitFaults(db: Reader): Promise<readonly LedgerFault[]> {
  const every = sql`1 = 1`
  const all = await findRows(db, budgets, every)
  const ofCounts = recountLimits({
    mandates: await findRows(db, mandates, sql`usage is not null`),
    subjects: await findRows(db, subjectUsage, every),
    budgets: all,
    budgetUsage: await findRows(db, budgetUsage, every),
    payments: await countPayments(db),
  })
  return [...ofCounts, ...(await findPathFaults(db, all))]
}

/** Every list of shared budgets that names a missing one, or not exactly those above its first one. */
async function findPathFaults(db: Reader, all: readonly BudgetRow[]): Promise<readonly LedgerFault[]> {
  const budgetOf = new Map(all.map((budget) => [keyOf(budget), budget]))
  const named = [...(await findPaths(db, agents)), ...(await findPaths(db, mandates))]
  const own = all.map(({ accountId, environment, id, ancestors }) => ({
    accountId,
    environment,
    path: [id, ...ancestors],
  }))
  const faults = new Map<string, LedgerFault>()
  for (const { accountId, environment, path } of [...named, ...own]) {
    for (const [index, subjectId] of path.entries()) {
      const key = keyOf({ accountId, environment, id: subjectId })
      const budget = budgetOf.get(key)
      const above = path.slice(index + 1)
      if (budget && String(budget.ancestors) === String(above) && budget.parentId === (above[0] ?? null))
        continue
      const fault = budget
        ? 'agents, mandates or budgets name other budgets above it'
        : 'a shared budget that is named does not exist'
      faults.set(`${key} ${fault}`, { accountId, subjectId, fault })
    }
  }
  return [...faults.values()]
}

interface NamedPath extends Pick<BudgetRow, 'accountId' | 'environment'> {
  readonly path: readonly string[]
}

/** Each list of shared budgets that rows of a table name. */
async function findPaths(db: Reader, table: typeof agents | typeof mandates): Promise<NamedPath[]> {
  const { rows } = await sql<{ account_id: unknown; environment: BudgetRow['environment']; path: string }>`
    select distinct account_id, environment, budget_path as path from ${from(table)}
    where budget_path is not null`.execute(db)
  return rows.map(({ account_id, environment, path }) => ({
    accountId: idFrom('account', account_id),
    environment,
    path: jsonFrom(table, path) as readonly string[],
  }))
}

function keyOf({ accountId, environment, id }: Pick<BudgetRow, 'accountId' | 'environment' | 'id'>): string {
  return `${accountId} ${environment} ${id}`
}

// Every time zone changes its day and its clock at a multiple of this.
const sameBucketMs = sql.lit(15 * 60_000)
/** More than a rolling window can count. */
const rollingMs = sql.lit(33 * 24 * 3_600_000)

/**
 * What payments commit, grouped by the buckets in which they count, whatever the limits. Only those in reach
 * of a rolling window need their exact times: that of a budget may end with its last payment, long before the mandate's.
 */
async function countPayments(db: Reader): Promise<CountedPayments[]> {
  const bookedAtMs = sql`coalesce(p.booked_at_ms, p.issued_at_ms)`
  const reached = sql`
    select p.account_id, p.mandate_id, p.budget_path,
      case when p.status = 'open' then 1 else 0 end as is_open,
      case when m.limits like '%"per":"%' then p.resource_url else '' end as resource_url,
      case when p.status = 'captured' then ${chargedMicro} else p.amount_micro end as amount_micro,
      case when ${bookedAtMs} >= l.last_ms - ${rollingMs}
          and (${isRolling(sql`m.limits`)} or r.account_id is not null) then ${bookedAtMs}
        else ${bookedAtMs} - ${bookedAtMs} % ${sameBucketMs} end as booked_at_ms
    from ${from(payments)} p
    join ${from(mandates)} m on m.account_id = p.account_id and m.id = p.mandate_id and m.usage is not null
    join (
      select p.account_id, p.mandate_id, p.budget_path, max(${bookedAtMs}) as last_ms
      from ${from(payments)} p group by p.account_id, p.mandate_id, p.budget_path) l
      on l.account_id = p.account_id and l.mandate_id = p.mandate_id
      and coalesce(l.budget_path, '') = coalesce(p.budget_path, '')
    left join (
      select distinct b.account_id from ${from(budgets)} b where ${isRolling(sql`b.limits`)}) r
      on r.account_id = p.account_id
    where p.status in ('authorized', 'captured') or (p.status = 'open' and p.epoch = m.epoch)`
  const { rows } = await sql<RawRow>`
    select account_id, mandate_id, is_open, resource_url, booked_at_ms, budget_path,
      sum(amount_micro) as amount_micro, count(*) as count
    from (${reached}) t
    group by account_id, mandate_id, is_open, resource_url, booked_at_ms, budget_path`.execute(db)
  return rows.map((raw) => {
    const payment = rowOf(payments, raw)
    const bookedAtMs = payment.bookedAtMs ?? payment.issuedAtMs
    return { ...payment, bookedAtMs, isOpen: Number(raw['is_open']) === 1, count: Number(raw['count']) }
  })
}

function isRolling(limits: Sql): Sql {
  return sql`${limits} like '%rollingSeconds%'`
}

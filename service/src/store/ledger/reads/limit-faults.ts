import type { LedgerFault } from '../../store.ts'
import { budgets, budgetUsage, mandates, payments, subjectUsage } from '../tables.ts'
import { findRows, from, rowOf, type RawRow } from './rows.ts'
import { recountLimits, type CountedPayments } from './limit-recount.ts'
import { chargedMicro } from './sums.ts'
import { sql, type Reader, type Sql } from '../../sql.ts'

/** Every limit whose counts differ from its payments, from a reader of one snapshot. */
export async function findLimitFaults(db: Reader): Promise<readonly LedgerFault[]> {
  const every = sql`1 = 1`
  return recountLimits({
    mandates: await findRows(db, mandates, sql`usage is not null`),
    subjects: await findRows(db, subjectUsage, every),
    budgets: await findRows(db, budgets, every),
    budgetUsage: await findRows(db, budgetUsage, every),
    payments: await countPayments(db),
  })
}

// Every time zone changes its day and its clock at a multiple of this.
const sameBucketMs = sql.lit(15 * 60_000)
/** More than a rolling window can count. */
const rollingMs = sql.lit(33 * 24 * 3_600_000)

/**
 * What payments commit, grouped by the buckets in which they count, whatever the limits. Only those in reach
 * of a rolling window need their exact times.
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
      select p.account_id, p.mandate_id, max(${bookedAtMs}) as last_ms
      from ${from(payments)} p group by p.account_id, p.mandate_id) l
      on l.account_id = p.account_id and l.mandate_id = p.mandate_id
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

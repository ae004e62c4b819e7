import { quarterMs, type ActivityDimension } from '../activity.ts'
import { activity, activityParts, entries, payments } from '../tables.ts'
import { from } from './rows.ts'
import { sql, type Sql } from '../../sql.ts'

const dayMs = sql.lit(24 * 60 * 60_000)
const half = sql.lit(2 ** 32)

const isOwn = sql`kind not in ('received', 'refund_sent')`
const isSpending = sql`kind in ('paid', 'refunded')`

interface Comparison {
  readonly dimension: ActivityDimension
  /** Which entries count. */
  readonly counts: Sql
  /** Without one, all subjects are compared in total. */
  readonly subject?: Sql
  readonly isByDay?: true
  /** Which rows of the dimension are compared. */
  readonly among?: Sql
}

/** What is compared with the journal, whose ids of mandates and agents are not text. */
const comparisons: readonly Comparison[] = [
  { dimension: 'all', counts: isOwn },
  { dimension: 'mandate', counts: sql`${isOwn} and has_mandate = 1` },
  { dimension: 'reason', counts: sql`kind = 'denied'` },
  { dimension: 'domain', counts: sql`kind <> 'more_denied'`, among: sql`subject = ''` },
  { dimension: 'agent_day', counts: isSpending, isByDay: true },
  {
    dimension: 'payee_day',
    counts: sql`${isSpending} and merchant_domain is not null`,
    subject: sql`merchant_domain`,
    isByDay: true,
  },
  {
    dimension: 'category_day',
    counts: sql`${isSpending} and merchant_domain is not null and category is not null`,
    subject: sql`category`,
    isByDay: true,
  },
]

/** The entries, added up by all that comparisons distinguish, so that they are read once. */
const journal = sql`
  select e.account_id, e.environment, e.kind, p.merchant_domain, p.category,
    case when e.mandate_id is null then 0 else 1 end as has_mandate,
    e.at_ms - e.at_ms % ${sql.lit(quarterMs)} as quarter_ms,
    sum(e.count) as count, sum(e.amount_micro / ${half}) as high, sum(e.amount_micro % ${half}) as low
  from ${from(entries)} e
    left join ${from(payments)} p on p.account_id = e.account_id and p.nonce = e.nonce and e.kind in ('paid', 'refunded')
  group by e.account_id, e.environment, e.kind, p.merchant_domain, p.category,
    case when e.mandate_id is null then 0 else 1 end, e.at_ms - e.at_ms % ${sql.lit(quarterMs)}`

const inJournal = sql`
  select account_id, environment, compared,
    case ${sql.join(
      comparisons.map(
        ({ dimension, subject = sql`''` }) => sql`when ${isCompared(dimension)} then ${subject}`,
      ),
      sql` `,
    )} end as subject,
    case when compared in (${sql.join(
      comparisons.filter(({ isByDay }) => isByDay).map(({ dimension }) => sql.lit(dimension)),
    )}) then quarter_ms - quarter_ms % ${dayMs} else quarter_ms end as starts_at_ms,
    ${lessIf(sql`kind in ('paid', 'received')`, 'paid')},
    ${lessIf(sql`kind in ('refunded', 'refund_sent')`, 'refunded')},
    case when kind = 'approved' then -count else 0 end as approved,
    case when kind in ('denied', 'more_denied') then -count else 0 end as denied
  from (${journal}) j
    cross join (${sql.join(
      comparisons.map(({ dimension }) => sql`select ${sql.lit(dimension)} as compared`),
      sql` union all `,
    )}) c
  where ${sql.join(
    comparisons.map(({ dimension, counts }) => sql`(${isCompared(dimension)} and ${counts})`),
    sql` or `,
  )}`

/** Breakdowns that are stored in two ways: for longer times, and for shorter ones that add up to them. */
const twice = [
  ...(['agent', 'payee', 'category'] as const).flatMap((dimension) => [
    stored(`${dimension}_day`, { compared: dimension }),
    stored(dimension, {
      compared: dimension,
      sign: -1,
      startsAtMs: sql`starts_at_ms - starts_at_ms % ${dayMs}`,
    }),
  ]),
  stored('seller_total', { compared: 'seller' }),
  stored('seller', { compared: 'seller', sign: -1, startsAtMs: sql.lit(0) }),
]

/**
 * Accounts whose console sums differ from their journal, or from each other. A merchant's rows of `domain`, and sellers,
 * are not compared with the journal, which does not name them. Accounts with parts that are not added up yet are left
 * out.
 */
export const activityFaults = sql`
  select distinct d.account_id, d.account_id, 'account', 'the sums of its console differ from its entries' from (
    select account_id from (
      ${sql.join(
        [
          inJournal,
          ...comparisons.map(({ dimension, subject, among }) =>
            stored(dimension, { subject: sql.raw(subject ? 'subject' : "''"), ...(among && { among }) }),
          ),
          ...twice,
        ],
        sql` union all `,
      )}) t
    group by account_id, environment, compared, subject, starts_at_ms
    having sum(paid) <> 0 or sum(refunded) <> 0 or sum(approved) <> 0 or sum(denied) <> 0
      or sum(paid_low) % ${half} <> 0 or sum(paid_high) + sum(paid_low) / ${half} <> 0
      or sum(refunded_low) % ${half} <> 0 or sum(refunded_high) + sum(refunded_low) / ${half} <> 0) d
  where not exists (select 1 from ${from(activityParts)} w where w.account_id = d.account_id)`

function isCompared(dimension: ActivityDimension): Sql {
  return sql`compared = ${sql.lit(dimension)}`
}

/** The count and the halves of the amount of some kinds, to be subtracted. */
function lessIf(isKind: Sql, name: 'paid' | 'refunded'): Sql {
  const columns = (['count', 'high', 'low'] as const).map((column) => {
    const as = column === 'count' ? name : `${name}_${column}`
    return sql`case when ${isKind} then -${sql.raw(column)} else 0 end as ${sql.raw(as)}`
  })
  return sql.join(columns)
}

interface Stored {
  /** The name of the comparison, if it is not the dimension. */
  readonly compared?: string
  readonly sign?: 1 | -1
  readonly subject?: Sql
  readonly startsAtMs?: Sql
  readonly among?: Sql
}

function stored(
  dimension: ActivityDimension,
  {
    compared = dimension,
    sign = 1,
    subject = sql`subject`,
    startsAtMs = sql`starts_at_ms`,
    among = sql`1 = 1`,
  }: Stored,
): Sql {
  const figures = [
    'paid_count',
    'paid_high',
    'paid_low',
    'refunded_count',
    'refunded_high',
    'refunded_low',
    'approved_count',
    'denied_count',
  ].map((column) => sql.raw(`${sign} * ${column}`))
  return sql`
    select account_id, environment, ${sql.lit(compared)}, ${subject}, ${startsAtMs}, ${sql.join(figures)}
    from ${from(activity)} where dimension = ${sql.lit(dimension)} and ${among}`
}

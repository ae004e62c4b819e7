import type { MicroUsdc } from '../domain/money.ts'
import type { Int } from './rows.ts'

/**
 * What the transactions of a source add up to, by quarter of an hour. The one definition of the figures that
 * the console shows: the statements of both stores are made from it, those that keep the sums and those that
 * add what is not kept yet.
 *
 * A quarter, because every time zone is a whole number of them away from UTC: any day begins with one.
 * Amounts are added up in two halves, of 32 bits and the rest: ten payments may exceed what 63 bits hold.
 */
export const quarterMs = 15 * 60_000

/** What the sums are kept of; `subject` says of which one. */
export const activityDimensions = ['all', 'mandate', 'reason', 'seller', 'seller_total'] as const

const startsAt = `created_at_ms - created_at_ms % ${quarterMs}`

/** Revenue is shown of months, so whole days will do. */
export const dayMs = 24 * 60 * 60_000
const dayStartsAt = `created_at_ms - created_at_ms % ${dayMs}`

/** The columns of a transaction that the sums are made from. */
export const activityColumns =
  'account_id, environment, side, status, mandate_id, merchant_domain, seller_account_id, reason_code, amount_micro, created_at_ms'

/**
 * The rows of `activity` that a source of transactions adds up to. A mandate or a seller that is not
 * registered has none: evaluations may name anything. `accountId` is the account of all of them in SQL, where
 * they are of one: an engine that spreads accounts over machines does not see it from the rows.
 */
export function activityOf(source: string, accountId = 'recorded.account_id'): string {
  return `
    with recorded as materialized (${source})
    ${sums({ dimension: 'all', subject: "''", startsAt }, "side = 'payer'")}
    union all
    ${sums(
      { dimension: 'mandate', subject: 'mandate_id', startsAt },
      // What was paid was paid under a mandate.
      `side = 'payer' and (status = 'paid' or exists (
        select 1 from mandates m where m.account_id = ${accountId} and m.id = recorded.mandate_id))`,
    )}
    union all
    ${sums({ dimension: 'reason', subject: 'reason_code', startsAt }, "side = 'payer' and status = 'denied'")}
    union all
    ${sums({ dimension: 'seller', subject: 'merchant_domain', startsAt: dayStartsAt }, isOwnRevenue)}
    union all
    ${sums({ dimension: 'seller_total', subject: 'merchant_domain', startsAt: '0' }, isOwnRevenue)}`
}

interface Summed {
  readonly dimension: (typeof activityDimensions)[number]
  readonly subject: string
  readonly startsAt: string
}

/** The sums of one dimension, each of which is made by itself: most have few rows, and none needs to be sorted. */
function sums({ dimension, subject, startsAt: start }: Summed, condition: string): string {
  return `
    select account_id, environment, '${dimension}' as dimension, ${subject} as subject, ${start} as starts_at_ms,
      ${count("status = 'paid'")} as paid_count,
      ${sum("case when status = 'paid' then amount_micro >> 32 else 0 end")} as paid_high,
      ${sum("case when status = 'paid' then amount_micro & 4294967295 else 0 end")} as paid_low,
      ${count("status = 'approved'")} as approved_count,
      ${count("status = 'denied'")} as denied_count
    from recorded where ${condition}
    group by 1, 2, 3, 4, 5`
}

const isOwnRevenue = "status = 'paid' and seller_account_id = account_id"

function count(condition: string): string {
  return sum(`case when ${condition} then 1 else 0 end`)
}

function sum(value: string): string {
  return `cast(sum(${value}) as bigint)`
}

const insertSums = `
    insert into activity (account_id, environment, dimension, subject, starts_at_ms, paid_count, paid_high, paid_low,
      approved_count, denied_count)`
const addToSums = `
    on conflict (account_id, environment, dimension, subject, starts_at_ms) do update set
      paid_count = activity.paid_count + excluded.paid_count,
      paid_high = activity.paid_high + excluded.paid_high,
      paid_low = activity.paid_low + excluded.paid_low,
      approved_count = activity.approved_count + excluded.approved_count,
      denied_count = activity.denied_count + excluded.denied_count`

/** Adds what a source adds up to, to the sums that are kept; in one order, so that no two writers cross. */
export function addUp(source: string, accountId?: string): string {
  return `${insertSums}
    select * from (${activityOf(source, accountId)}) added where true
    order by account_id, environment, dimension, subject, starts_at_ms ${addToSums}`
}

/** Adds one sum, whose values stand in the order of the columns, to those that are kept. */
export const addUpSum = `${insertSums} values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ${addToSums}`

/** The sum of amounts, in millionths, from its two halves. */
export function sumOfHalves(high: Int | null, low: Int | null): MicroUsdc {
  return ((BigInt(high ?? 0) << 32n) + BigInt(low ?? 0)) as MicroUsdc
}

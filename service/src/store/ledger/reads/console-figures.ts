import type { MicroUsdc } from '../../../domain/money.ts'
import type { Scope } from '../../../domain/records.ts'
import type { Activity, ActivityQuestion, Budgets, ConsoleReads, Refusal } from '../../console/store.ts'
import { sumOfHalves, sumsOfParts, type ActivityPart } from '../activity.ts'
import type { Table } from '../table.ts'
import {
  activity,
  activityParts,
  agents,
  mandates,
  openApprovals,
  payments,
  refunds,
  refusals,
  sellers,
} from '../tables.ts'
import { toConsoleMandate, withAgent, type ConsoleMandateRow } from './console-mandates.ts'
import { idOf, tableOf, type ReadDialect, type Int } from './dialect.ts'
import { amountFrom, countFrom, sumAmount, sumWhere, type Sums } from './sums.ts'
import { sql, type Reader, type Sql } from '../../sql.ts'

/** Max open payments that are counted. */
const maxCounted = 10_000

/** How many of the budgets closest to their limits are listed. */
const maxNearest = 5

/** How many payments of a mandate are read to find the first open one. */
const maxSearched = 1_000

/**
 * How many more subjects are read than requested, since payments that are not added up yet may change the
 * order.
 */
const maxWaiting = 20

type Figures = Pick<
  ConsoleReads,
  | 'readActivity'
  | 'topSubjects'
  | 'readBudgets'
  | 'countStoppedMandates'
  | 'countPendingApprovals'
  | 'readChecklist'
  | 'readRefusals'
  | 'readOpenHolds'
>

const isStopped = sql`stopped_by is not null and status = 'paused'`

/** Whether a mandate can still pay: a revoked agent's cannot. */
export function isActiveMandate(dialect: ReadDialect, { accountId }: Scope, nowMs: number): Sql {
  return sql`status = 'active' and expires_at_ms > ${nowMs} and agent_id not in (
    select id from ${tableOf(dialect, agents)}
    where account_id = ${idOf(dialect, 'account', accountId)} and status = 'revoked')`
}

/** The sums that the console shows. */
export function prepareFigures(db: Reader, dialect: ReadDialect): Figures {
  const from = (table: Table) => tableOf(dialect, table)
  const { inTime } = dialect
  const inScope = ({ accountId, environment }: Scope, alias = '') =>
    sql`${sql.raw(alias)}account_id = ${idOf(dialect, 'account', accountId)}
      and ${sql.raw(alias)}environment = ${environment}`

  return {
    async readActivity(scope, question): Promise<Activity[]> {
      const { dimension, subjects, fromMs, untilMs, isTotal } = question
      if (subjects.length === 0) return []
      const startsAt = isTotal ? sql`min(starts_at_ms)` : sql.raw(bucketText(question))
      // Stored sums and parts that are not added up yet, in one consistent read, so that nothing is missing or
      // counted twice.
      const { rows } = await sql<ActivityRow>`
        select subject, ${startsAt} as starts_at_ms,
          cast(sum(paid_count) as bigint) as paid_count, cast(sum(paid_high) as bigint) as paid_high,
          cast(sum(paid_low) as bigint) as paid_low, cast(sum(approved_count) as bigint) as approved_count,
          cast(sum(denied_count) as bigint) as denied_count,
          cast(sum(coalesce(refunded_count, 0)) as bigint) as refunded_count,
          cast(sum(coalesce(refunded_high, 0)) as bigint) as refunded_high,
          cast(sum(coalesce(refunded_low, 0)) as bigint) as refunded_low, null as parts
        from ${from(activity)}
        where ${inScope(scope)} and dimension = ${dimension} and subject in (${sql.join(subjects)})
          and starts_at_ms >= ${fromMs} ${untilMs === undefined ? sql`` : sql`and starts_at_ms < ${untilMs}`} ${inTime}
        group by 1 ${isTotal ? sql`` : sql`, 2`}
        union all
        select '', 0, 0, 0, 0, 0, 0, 0, 0, 0, parts from ${from(activityParts)}
        where account_id = ${idOf(dialect, 'account', scope.accountId)} ${inTime}`.execute(db)
      return addActivity(rows, { ...question, environment: scope.environment })
    },

    async topSubjects(scope, { dimension, fromMs, limit }): Promise<string[]> {
      const { rows } = await sql<TopRow>`
        select subject, paid, refunded, null as parts from (
          select subject, sum(${inWhole('paid')}) as paid, sum(${inWhole('refunded')}) as refunded
          from ${from(activity)}
          where ${inScope(scope)} and dimension = ${dimension} and starts_at_ms >= ${fromMs} ${inTime}
          group by subject order by sum(${inWhole('paid')}) - sum(${inWhole('refunded')}) desc, subject limit ${sql.lit(limit + maxWaiting)}) s
        union all
        select '', 0, 0, parts from ${from(activityParts)}
        where account_id = ${idOf(dialect, 'account', scope.accountId)} ${inTime}`.execute(db)
      const sums = new Map<string, number>()
      for (const { subject, paid, refunded, parts } of rows) {
        if (parts === null) sums.set(subject, Number(paid) - Number(refunded))
      }
      const waiting = rows.flatMap(({ parts }) =>
        parts === null ? [] : (JSON.parse(parts) as readonly ActivityPart[]),
      )
      for (const sum of sumsOfParts(waiting)) {
        if (sum.environment !== scope.environment || sum.dimension !== dimension || sum.startsAtMs < fromMs)
          continue
        const added = Number(sum.paidMicro - sum.refundedMicro)
        sums.set(sum.subject, (sums.get(sum.subject) ?? 0) + added)
      }
      return [...sums]
        .sort(([one, ofOne], [other, ofOther]) => ofOther - ofOne || (one < other ? -1 : 1))
        .slice(0, limit)
        .map(([subject]) => subject)
    },

    async readBudgets(scope, nowMs): Promise<Budgets> {
      const isActive = isActiveMandate(dialect, scope, nowMs)
      const { rows } = await sql<Sums>`
        select ${sumWhere(isActive, sql`1`)} as active_mandates,
          ${sumAmount('remaining', sql`(max_total_micro - spent_micro)`, isActive)},
          ${sumAmount('held', sql`held_micro`)}, ${sumAmount('authorized', sql`authorized_micro`)},
          ${sumWhere(isStopped, sql`1`)} as stopped_mandates, sum(open_payments) as open_payments,
          sum(authorized_payments) as authorized_payments
        from ${from(mandates)} where ${inScope(scope)} ${inTime}`.execute(db)
      const [sums] = rows
      const nearest = await sql<ConsoleMandateRow>`
        select ${withAgent(dialect, 'm', scope)} from (
          select * from ${from(mandates)} where ${inScope(scope)} and ${isActive} and spent_micro > 0 ${inTime}
          order by cast(spent_micro as double precision) / max_total_micro desc, id desc
          limit ${sql.lit(maxNearest)}) m`.execute(db)
      return {
        activeMandates: countFrom(sums, 'active_mandates'),
        remainingMicro: amountFrom(sums, 'remaining'),
        heldMicro: amountFrom(sums, 'held'),
        stoppedMandates: countFrom(sums, 'stopped_mandates'),
        openHolds: Math.min(maxCounted, countFrom(sums, 'open_payments')),
        authorized: {
          count: countFrom(sums, 'authorized_payments'),
          amountMicro: amountFrom(sums, 'authorized'),
        },
        nearest: nearest.rows.map(toConsoleMandate),
      }
    },

    async countStoppedMandates(scope): Promise<number> {
      const { rows } = await sql<Sums>`
        select count(*) as stopped from ${from(mandates)} where ${inScope(scope)} and ${isStopped} ${inTime}`.execute(
        db,
      )
      return countFrom(rows[0], 'stopped')
    },

    async countPendingApprovals(scope, nowMs): Promise<number> {
      const { rows } = await sql<Sums>`
        select count(*) as pending from ${from(openApprovals)}
        where ${inScope(scope)} and status = 'pending' and expires_at_ms > ${nowMs} ${inTime}`.execute(db)
      return countFrom(rows[0], 'pending')
    },

    async readChecklist(scope) {
      const any = async (table: Table, condition = sql``) => {
        const { rows } = await sql`
          select 1 from ${from(table)} where ${inScope(scope)} ${condition} ${inTime} limit 1`.execute(db)
        return rows.length > 0
      }
      // What was refunded was paid, too.
      const hasPaid = async () => (await any(mandates, sql`and spent_micro > 0`)) || any(refunds)
      const [agent, mandate, seller, proof, paid] = await Promise.all([
        any(agents),
        any(mandates),
        any(sellers),
        // Proofs exist only in the sandbox, so production is not searched.
        scope.environment === 'sandbox' ? any(payments) : false,
        hasPaid(),
      ])
      return { agent, mandate, seller, proof, paid }
    },

    async readRefusals(scope, { subjects, fromMs }): Promise<Refusal[]> {
      if (subjects.length === 0) return []
      const { rows } = await sql<RefusalRow>`
        select subject, reason, min(starts_at_ms) as starts_at_ms, cast(sum(count) as bigint) as refused
        from ${from(refusals)}
        where ${inScope(scope)} and subject in (${sql.join(subjects)}) and starts_at_ms >= ${fromMs}
        group by subject, reason order by 4 desc, reason`.execute(db)
      return rows.map(({ subject, reason, starts_at_ms, refused }) => ({
        accountId: scope.accountId,
        environment: scope.environment,
        subject,
        reason,
        startsAtMs: Number(starts_at_ms),
        count: Number(refused),
      }))
    },

    async readOpenHolds() {
      const { indexedPayments, waitingPayments } = dialect
      const { rows } = await sql<{ open: Int | null; first_expires_at_ms: Int | null }>`
        select cast(sum(m.open_payments) as bigint) as open, min((
          select min(first.expires_at_ms) from (
            select expires_at_ms, status from ${indexedPayments} p
            where p.account_id = m.account_id and p.mandate_id = m.id and p.epoch = m.epoch
              and p.expires_at_ms > m.released_until_ms
            order by p.expires_at_ms limit ${sql.lit(maxSearched)}) first
          where first.status = 'open')) as first_expires_at_ms
        from ${from(mandates)} m where m.open_payments > 0 ${inTime}
        ${
          waitingPayments === undefined
            ? sql``
            : sql`union all
        select 0, min(p.expires_at_ms) from ${waitingPayments} p
          join ${from(mandates)} m on m.account_id = p.account_id and m.id = p.mandate_id and m.epoch = p.epoch
        where p.status = 'open' ${inTime}`
        }`.execute(db)
      const firsts = rows.flatMap(({ first_expires_at_ms: first }) => (first === null ? [] : [Number(first)]))
      return {
        count: rows.reduce((sum, { open }) => sum + Number(open ?? 0), 0),
        firstExpiresAtMs: firsts.length === 0 ? null : Math.min(...firsts),
      }
    },
  }
}

/** A stored sum, or what a batch adds to the sums. */
interface ActivityRow {
  readonly subject: string
  readonly starts_at_ms: Int
  readonly paid_count: Int
  readonly paid_high: Int
  readonly paid_low: Int
  readonly approved_count: Int
  readonly denied_count: Int
  readonly refunded_count: Int
  readonly refunded_high: Int
  readonly refunded_low: Int
  readonly parts: string | null
}

/** The sums of a subject, only for their order; or what a batch adds to the sums. */
interface TopRow {
  readonly subject: string
  readonly paid: Int
  readonly refunded: Int
  readonly parts: string | null
}

/** An amount as a floating point number, for an order. */
function inWhole(name: 'paid' | 'refunded'): Sql {
  const [high, low] = [sql.ref(`${name}_high`), sql.ref(`${name}_low`)]
  return sql`(coalesce(${high}, 0) * cast(4294967296 as double precision) + coalesce(${low}, 0))`
}

interface RefusalRow {
  readonly subject: string
  readonly reason: Refusal['reason']
  readonly starts_at_ms: Int
  readonly refused: Int
}

/** The sums of rows, in the order of subjects and times. */
function addActivity(
  rows: readonly ActivityRow[],
  question: ActivityQuestion & Pick<Scope, 'environment'>,
): Activity[] {
  const { environment, dimension, subjects, fromMs, untilMs = Infinity, isTotal } = question
  const kept = rows.flatMap(({ parts, ...row }) => (parts === null ? [toActivity(row)] : []))
  const waiting = rows.flatMap(({ parts }) =>
    parts === null ? [] : (JSON.parse(parts) as readonly ActivityPart[]),
  )
  const fitting = sumsOfParts(waiting).filter(
    (sum) =>
      sum.environment === environment &&
      sum.dimension === dimension &&
      sum.startsAtMs >= fromMs &&
      sum.startsAtMs < untilMs &&
      subjects.includes(sum.subject),
  )
  const sums = new Map<string, Activity>()
  for (const added of [...kept, ...fitting]) {
    const { subject, startsAtMs } = added
    const bucketMs = isTotal ? startsAtMs : bucketOf(startsAtMs, question)
    const key = isTotal ? subject : `${subject}\0${bucketMs}`
    const sum = sums.get(key)
    sums.set(key, {
      subject,
      startsAtMs: Math.min(bucketMs, sum?.startsAtMs ?? bucketMs),
      paidCount: (sum?.paidCount ?? 0) + added.paidCount,
      paidMicro: ((sum?.paidMicro ?? 0n) + added.paidMicro) as MicroUsdc,
      approvedCount: (sum?.approvedCount ?? 0) + added.approvedCount,
      deniedCount: (sum?.deniedCount ?? 0) + added.deniedCount,
      refundedCount: (sum?.refundedCount ?? 0) + added.refundedCount,
      refundedMicro: ((sum?.refundedMicro ?? 0n) + added.refundedMicro) as MicroUsdc,
    })
  }
  return [...sums.values()].sort((one, other) =>
    one.subject === other.subject ? one.startsAtMs - other.startsAtMs : one.subject < other.subject ? -1 : 1,
  )
}

function toActivity(row: Omit<ActivityRow, 'parts'>): Activity {
  return {
    subject: row.subject,
    startsAtMs: Number(row.starts_at_ms),
    paidCount: Number(row.paid_count),
    paidMicro: sumOfHalves(row.paid_high, row.paid_low),
    approvedCount: Number(row.approved_count),
    deniedCount: Number(row.denied_count),
    refundedCount: Number(row.refunded_count),
    refundedMicro: sumOfHalves(row.refunded_high, row.refunded_low),
  }
}

/** The start of the bucket of a quarter. */
function bucketOf(startsAtMs: number, { fromMs, bucketMs }: ActivityQuestion): number {
  return bucketMs === undefined ? startsAtMs : startsAtMs - ((startsAtMs - fromMs) % bucketMs)
}

/** Like `bucketOf`, in SQL; with literals, since SQLite binds numbers as floating point. */
function bucketText({ fromMs, bucketMs }: ActivityQuestion): string {
  if (bucketMs === undefined) return 'starts_at_ms'
  const [from, width] = [BigInt(fromMs), BigInt(bucketMs)]
  return `starts_at_ms - (starts_at_ms - ${from}) % ${width}`
}

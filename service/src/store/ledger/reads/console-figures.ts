import { dayMs, dayStart } from '../../../domain/buckets.ts'
import type { Scope } from '../../../domain/records.ts'
import type { ActivityQuestion, ConsoleReads } from '../../console/store.ts'
import { mergeParts, sumsOfParts, totalsOf, type ActivityPart, type ActivitySum } from '../activity.ts'
import { compare } from '../batch-facts.ts'
import { sqlName, sumRows, type Table } from '../table.ts'
import {
  activity,
  activityParts,
  agents,
  budgets,
  mandates,
  openApprovals,
  payments,
  refunds,
  refusals,
  sellers,
  stops,
} from '../tables.ts'
import { consoleMandates } from './console-mandates.ts'
import { readFullLimits } from './full-limits.ts'
import type { LedgerReader } from './ledger-reader.ts'
import {
  columnsOf,
  countRows,
  from,
  hasRows,
  inScope,
  ofAccount,
  rowOf,
  type Int,
  type RawRow,
} from './rows.ts'
import { amountFrom, countFrom, sumAmount, sumWhere, type Sums } from './sums.ts'
import { sql, type Sql } from '../../sql.ts'

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

const isStopped = sql`stopped_by is not null and status = 'paused'`

/** Whether a mandate can still pay: a revoked agent's cannot. */
export function isActiveMandate({ accountId }: Scope, nowMs: number): Sql {
  return sql`status = 'active' and expires_at_ms > ${nowMs} and agent_id not in (
    select id from ${from(agents)} where ${ofAccount(accountId)} and status = 'revoked')`
}

/** The columns of a stored sum. */
const summed = (activity.sums ?? []).map(sqlName)

/** Whether anything was paid in a scope. What was refunded was paid, too. */
export async function hasPaid(db: LedgerReader, scope: Scope): Promise<boolean> {
  const own = inScope(scope)
  const isSpent = await hasRows(db, mandates, sql`${own} and spent_micro > 0 ${db.inTime}`)
  return isSpent || hasRows(db, refunds, sql`${own} ${db.inTime}`)
}

/** The sums that the console shows. */
export function prepareFigures(db: LedgerReader) {
  const { inTime } = db

  return {
    async readActivity(scope, question) {
      const { dimension, subjects, fromMs, untilMs, isTotal } = question
      if (subjects.length === 0) return []
      const startsAt = isTotal ? sql`min(starts_at_ms)` : sql.raw(bucketText(question))
      const sums = summed.map((name) => `cast(sum(${name}) as bigint) as ${name}`)
      // Stored sums and parts that are not added up yet, in one consistent read, so that nothing is missing or
      // counted twice.
      const { rows } = await sql<RawRow>`
        select subject, ${startsAt} as starts_at_ms, null as parts, ${sql.raw(sums.join(', '))}
        from ${from(activity)}
        where ${inScope(scope)} and dimension = ${dimension} and subject in (${sql.join(subjects)})
          and starts_at_ms >= ${fromMs} ${untilMs === undefined ? sql`` : sql`and starts_at_ms < ${untilMs}`} ${inTime}
        group by 1 ${isTotal ? sql`` : sql`, 2`}
        union all
        select '', 0, parts, ${sql.raw(summed.map(() => '0').join(', '))} from ${from(activityParts)}
        where ${ofAccount(scope.accountId)} ${inTime}`.execute(db)
      const kept = rows.flatMap((row) => (row['parts'] === null ? [rowOf(activity, row)] : []))
      const added = new Map<string, ActivitySum>()
      for (const sum of [...kept, ...waitingIn(rows, scope, question)]) {
        const startsAtMs = isTotal ? sum.startsAtMs : bucketOf(sum.startsAtMs, question)
        const key = isTotal ? sum.subject : `${sum.subject}\0${startsAtMs}`
        const known = added.get(key)
        const first = Math.min(startsAtMs, known?.startsAtMs ?? startsAtMs)
        added.set(key, { ...(known ? sumRows<ActivitySum>(activity, known, sum) : sum), startsAtMs: first })
      }
      return [...added.values()]
        .sort((one, other) => compare(one.subject, other.subject) || one.startsAtMs - other.startsAtMs)
        .map(({ subject, startsAtMs, ...sum }) => ({ subject, startsAtMs, ...totalsOf(sum) }))
    },

    async topSubjects(scope, { dimension, fromMs, limit }) {
      const days = sql`${inScope(scope)} and dimension = ${`${dimension}_day`}`
      const wholeDaysFromMs = dayStart(fromMs + dayMs - 1)
      // Sums by day, and by quarter on a day of which only a part counts.
      const counted = sql`
        select subject, ${spentInWhole} as spent from ${from(activity)}
        where ${days} and starts_at_ms >= ${wholeDaysFromMs} ${inTime}
        union all
        select subject, ${spentInWhole} from ${from(activity)}
        where ${inScope(scope)} and dimension = ${dimension}
          and starts_at_ms >= ${fromMs} and starts_at_ms < ${wholeDaysFromMs} and subject in (
            select subject from ${from(activity)} where ${days} and starts_at_ms = ${dayStart(fromMs)}) ${inTime}`
      const { rows } = await sql<RawRow & { subject: string; spent: Int }>`
        select subject, spent, null as parts from (
          select subject, sum(spent) as spent from (${counted}) counted
          group by subject order by sum(spent) desc, subject limit ${sql.lit(limit + maxWaiting)}) s
        union all
        select '', 0, parts from ${from(activityParts)}
        where ${ofAccount(scope.accountId)} ${inTime}`.execute(db)
      const sums = new Map<string, number>()
      for (const { subject, spent, parts } of rows) if (parts === null) sums.set(subject, Number(spent))
      for (const { subject, ...sum } of waitingIn(rows, scope, { dimension, fromMs })) {
        const { paidMicro, refundedMicro } = totalsOf(sum)
        sums.set(subject, (sums.get(subject) ?? 0) + Number(paidMicro - refundedMicro))
      }
      return [...sums]
        .sort(([one, ofOne], [other, ofOther]) => ofOther - ofOne || compare(one, other))
        .slice(0, limit)
        .map(([subject]) => subject)
    },

    async readBudgets(scope, nowMs) {
      const isActive = isActiveMandate(scope, nowMs)
      const { rows } = await sql<Sums>`
        select ${sumWhere(isActive, sql`1`)} as active_mandates,
          ${sumAmount('remaining', sql`(max_total_micro - spent_micro)`, isActive)},
          ${sumAmount('held', sql`held_micro`)}, ${sumAmount('authorized', sql`authorized_micro`)},
          ${sumWhere(isStopped, sql`1`)} as stopped_mandates, sum(open_payments) as open_payments,
          sum(authorized_payments) as authorized_payments
        from ${from(mandates)} where ${inScope(scope)} ${inTime}`.execute(db)
      const [sums] = rows
      const { more, toItem } = consoleMandates(scope.accountId)
      const nearest = await sql<RawRow>`
        select ${columnsOf(mandates, 'looked_at')}, ${more} from (
          select * from ${from(mandates)} where ${inScope(scope)} and ${isActive} and spent_micro > 0 ${inTime}
          order by cast(spent_micro as double precision) / max_total_micro desc, id desc
          limit ${sql.lit(maxNearest)}) looked_at`.execute(db)
      return {
        activeMandates: countFrom(sums, 'active_mandates'),
        remainingMicro: amountFrom(sums, 'remaining'),
        heldMicro: amountFrom(sums, 'held'),
        stoppedMandates: countFrom(sums, 'stopped_mandates'),
        frozenBudgets: await countRows(
          db,
          budgets,
          sql`${inScope(scope)} and frozen_at_ms is not null ${inTime}`,
        ),
        openHolds: Math.min(maxCounted, countFrom(sums, 'open_payments')),
        authorized: {
          count: countFrom(sums, 'authorized_payments'),
          amountMicro: amountFrom(sums, 'authorized'),
        },
        full: await readFullLimits(db, scope, { isActive, nowMs }),
        nearest: nearest.rows.map((raw) => toItem(rowOf(mandates, raw), raw)),
      }
    },

    async readStopped(scope) {
      // One query: the number must not be of a later stop than the count.
      const { rows } = await sql<Sums>`
        select count(*) as stopped_mandates,
          (select presses from ${from(stops)} where ${inScope(scope)}) as stop_number
        from ${from(mandates)} where ${inScope(scope)} and ${isStopped} ${inTime}`.execute(db)
      return {
        stoppedMandates: countFrom(rows[0], 'stopped_mandates'),
        stopNumber: countFrom(rows[0], 'stop_number'),
      }
    },

    countPendingApprovals: (scope, nowMs) =>
      countRows(
        db,
        openApprovals,
        sql`${inScope(scope)} and status = 'pending' and expires_at_ms > ${nowMs} ${inTime}`,
      ),

    async readChecklist(scope) {
      const any = (table: Table) => hasRows(db, table, sql`${inScope(scope)} ${inTime}`)
      const [agent, mandate, seller, proof, paid] = await Promise.all([
        any(agents),
        any(mandates),
        any(sellers),
        // Proofs exist only in the sandbox, so production is not searched.
        scope.environment === 'sandbox' ? any(payments) : false,
        hasPaid(db, scope),
      ])
      return { agent, mandate, seller, proof, paid }
    },

    async readRefusals(scope, { subjects, fromMs }) {
      if (subjects.length === 0) return []
      const { rows } = await sql<RawRow>`
        select subject, reason, min(starts_at_ms) as starts_at_ms, cast(sum(count) as bigint) as count
        from ${from(refusals)}
        where ${inScope(scope)} and subject in (${sql.join(subjects)}) and starts_at_ms >= ${fromMs}
        group by subject, reason order by 4 desc, reason`.execute(db)
      const { accountId, environment } = scope
      return rows.map((raw) => {
        const { subject, reason, startsAtMs, count } = rowOf(refusals, raw)
        return { accountId, environment, subject, reason, startsAtMs, count }
      })
    },

    async readOpenHolds() {
      const { indexedPayments, waitingPayments } = db
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
  } satisfies Partial<ConsoleReads>
}

/** What rows of batches add to the sums that a question is about. */
export function waitingIn(
  rows: readonly RawRow[],
  { environment }: Scope,
  { dimension, subjects, fromMs = 0, untilMs = Infinity }: Partial<ActivityQuestion>,
): ActivitySum[] {
  const parts = rows.flatMap(
    (row) => JSON.parse((row['parts'] as string | null) ?? '[]') as readonly ActivityPart[],
  )
  return sumsOfParts(mergeParts(parts)).filter(
    (sum) =>
      sum.environment === environment &&
      sum.dimension === dimension &&
      (subjects === undefined || subjects.includes(sum.subject)) &&
      sum.startsAtMs >= fromMs &&
      sum.startsAtMs < untilMs,
  )
}

/** What was spent as a floating point number, for an order. */
const spentInWhole = sql`(${inWhole('paid')} - ${inWhole('refunded')})`

/** An amount as a floating point number. */
function inWhole(name: 'paid' | 'refunded'): Sql {
  const [high, low] = [sql.ref(`${name}_high`), sql.ref(`${name}_low`)]
  return sql`(${high} * cast(4294967296 as double precision) + ${low})`
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

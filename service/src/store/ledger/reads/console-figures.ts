import { sql, type RawBuilder } from 'kysely'

import { idsFrom } from '../../../domain/id-time.ts'
import type { MicroUsdc } from '../../../domain/money.ts'
import type { Scope } from '../../../domain/records.ts'
import { dayMs, quarterMs, sumOfHalves } from '../../activity.ts'
import type { Activity, ActivityQuestion, Budgets, ConsoleReads, Refusal } from '../../console/store.ts'
import type { Int } from '../../rows.ts'
import type { Table } from '../table.ts'
import { agents, entries, evaluations, mandates, payments, refusals, sellers } from '../tables.ts'
import { toConsoleMandate, withAgent, type ConsoleMandateRow } from './console-mandates.ts'
import { boundOf, idFrom, idOf, idsOf, tableOf, type ReadDialect, type Reader } from './dialect.ts'
import { clockSlackMs } from './transactions.ts'

/** Max open payments that are counted. */
const maxCounted = 10_000

/** How many of the budgets that are closest to their limits are named. */
const maxNearest = 5

/** How long ago an open payment was issued, at the most, that is looked for. */
const openWithinMs = 60 * 60_000

type Figures = Pick<
  ConsoleReads,
  'readActivity' | 'readBudgets' | 'countStoppedMandates' | 'readChecklist' | 'readRefusals' | 'readOpenHolds'
>

const isStopped = sql`stopped_by is not null and status = 'paused'`

/** Whether something can still be paid under a mandate: of a revoked agent nothing can. */
export function isActiveMandate(
  dialect: ReadDialect,
  { accountId }: Scope,
  nowMs: number,
): RawBuilder<unknown> {
  return sql`status = 'active' and expires_at_ms > ${nowMs} and agent_id not in (
    select id from ${tableOf(dialect, agents)}
    where account_id = ${idOf(dialect, 'account', accountId)} and status = 'revoked')`
}

/** The sums that the console shows: those of payments and evaluations are the journal's. */
export function prepareFigures(db: Reader, dialect: ReadDialect): Figures {
  const from = (table: Table) => tableOf(dialect, table)
  const { inTime } = dialect
  const inScope = ({ accountId, environment }: Scope, alias = '') =>
    sql`${sql.raw(alias)}account_id = ${idOf(dialect, 'account', accountId)}
      and ${sql.raw(alias)}environment = ${environment}`

  /** The entries that a question asks about, each with its subject and with where its sum begins. */
  async function entriesOf(
    scope: Scope,
    { dimension, subjects, fromMs }: ActivityQuestion,
  ): Promise<RawBuilder<unknown>> {
    const width = dimension === 'seller' ? dayMs : quarterMs
    // Sums begin with a quarter or a day: of one that began before the moment nothing counts.
    const firstMs = dimension === 'seller_total' ? 0 : Math.ceil(fromMs / width) * width
    const startsAt = dimension === 'seller_total' ? sql`0` : sql`e.at_ms - e.at_ms % ${sql.lit(width)}`
    const columns = (subject: RawBuilder<unknown>) =>
      sql`${subject} as subject, ${startsAt} as starts_at_ms, e.kind, e.amount_micro, e.count as stands_for`
    const recent = sql`${inScope(scope, 'e.')} and e.at_ms >= ${sql.lit(firstMs)}
      and e.id >= ${boundOf(dialect, 'transaction', idsFrom('txn', firstMs - clockSlackMs))} ${inTime}`
    switch (dimension) {
      case 'all':
        return sql`select ${columns(sql`''`)} from ${from(entries)} e where ${recent} and e.kind <> 'received'
          and '' in (${sql.join(subjects)})`
      case 'mandate':
        return sql`select ${columns(sql`e.mandate_id`)} from ${await dialect.entriesOfMandates(subjects)} e
          where ${recent} and e.kind <> 'received' and e.mandate_id in (${idsOf(dialect, 'mandate', subjects)})`
      case 'reason':
        return sql`select ${columns(sql`v.reason_code`)} from ${from(entries)} e
          join ${from(evaluations)} v on v.account_id = e.account_id and v.id = e.id
          where ${recent} and e.kind = 'denied' and v.reason_code in (${sql.join(subjects)})`
      case 'seller':
      case 'seller_total':
        return sql`select ${columns(sql`p.merchant_domain`)} from ${from(entries)} e
          join ${from(payments)} p on p.account_id = e.payer_id and p.nonce = e.nonce
          where ${recent} and p.seller_account_id = e.account_id and p.merchant_domain in (${sql.join(subjects)})`
      default:
        return dimension satisfies never
    }
  }

  return {
    async readActivity(scope, question): Promise<Activity[]> {
      const { dimension, subjects, fromMs, isTotal } = question
      if (subjects.length === 0 || (dimension === 'seller_total' && fromMs > 0)) return []
      const startsAt = isTotal ? sql`min(starts_at_ms)` : stretchOf(question)
      const isPaid = sql`kind in ('paid', 'received')`
      const { rows } = await sql<ActivityRow>`
        select subject, ${startsAt} as starts_at_ms,
          ${sumWhere(isPaid, sql`1`)} as paid_count,
          ${sumWhere(isPaid, sql`amount_micro >> 32`)} as paid_high,
          ${sumWhere(isPaid, sql`amount_micro & 4294967295`)} as paid_low,
          ${sumWhere(sql`kind = 'approved'`, sql`stands_for`)} as approved_count,
          ${sumWhere(sql`kind in ('denied', 'more_denied')`, sql`stands_for`)} as denied_count
        from (${await entriesOf(scope, question)}) parts
        group by subject ${isTotal ? sql`` : sql`, ${stretchOf(question)}`}
        order by 1, 2`.execute(db)
      return rows.map((row) => ({
        subject: dimension === 'mandate' ? idFrom('mandate', row.subject) : String(row.subject),
        startsAtMs: Number(row.starts_at_ms),
        paidCount: Number(row.paid_count),
        paidMicro: sumOfHalves(row.paid_high, row.paid_low),
        approvedCount: Number(row.approved_count),
        deniedCount: Number(row.denied_count),
      }))
    },

    async readBudgets(scope, nowMs): Promise<Budgets> {
      const isActive = isActiveMandate(dialect, scope, nowMs)
      const left = sql`(max_total_micro - spent_micro)`
      const { rows } = await sql<BudgetsRow>`
        select ${sumWhere(isActive, sql`1`)} as active_mandates,
          ${sumWhere(isActive, sql`${left} >> 32`)} as remaining_high,
          ${sumWhere(isActive, sql`${left} & 4294967295`)} as remaining_low,
          ${sumWhere(sql`held_micro > 0`, sql`held_micro >> 32`)} as held_high,
          ${sumWhere(sql`held_micro > 0`, sql`held_micro & 4294967295`)} as held_low,
          ${sumWhere(isStopped, sql`1`)} as stopped_mandates,
          ${sumWhere(sql`open_payments > 0`, sql`open_payments`)} as open_payments
        from ${from(mandates)} where ${inScope(scope)} ${inTime}`.execute(db)
      const [sums] = rows
      const nearest = await sql<ConsoleMandateRow>`
        select ${withAgent(dialect, 'm', scope)} from (
          select * from ${from(mandates)} where ${inScope(scope)} and ${isActive} and spent_micro > 0 ${inTime}
          order by cast(spent_micro as double precision) / max_total_micro desc, id desc
          limit ${sql.lit(maxNearest)}) m`.execute(db)
      return {
        activeMandates: Number(sums?.active_mandates ?? 0),
        remainingMicro: halves(sums?.remaining_high, sums?.remaining_low),
        heldMicro: halves(sums?.held_high, sums?.held_low),
        stoppedMandates: Number(sums?.stopped_mandates ?? 0),
        openHolds: Math.min(maxCounted, Number(sums?.open_payments ?? 0)),
        nearest: nearest.rows.map(toConsoleMandate),
      }
    },

    async countStoppedMandates(scope): Promise<number> {
      const { rows } = await sql<{ stopped: Int }>`
        select count(*) as stopped from ${from(mandates)} where ${inScope(scope)} and ${isStopped} ${inTime}`.execute(
        db,
      )
      return Number(rows[0]?.stopped ?? 0)
    },

    async readChecklist(scope) {
      const any = async (table: Table, condition = sql``) => {
        const { rows } = await sql`
          select 1 from ${from(table)} where ${inScope(scope)} ${condition} ${inTime} limit 1`.execute(db)
        return rows.length > 0
      }
      const [agent, mandate, seller, proof, paid] = await Promise.all([
        any(agents),
        any(mandates),
        any(sellers),
        // Proofs are of the sandbox, so nothing is looked for where there are none.
        scope.environment === 'sandbox' ? any(payments) : false,
        any(mandates, sql`and spent_micro > 0`),
      ])
      return { agent, mandate, seller, proof, paid }
    },

    async readRefusals(scope, { kind, subjects, fromMs }): Promise<Refusal[]> {
      if (subjects.length === 0) return []
      const { rows } = await sql<RefusalRow>`
        select subject, reason, min(starts_at_ms) as starts_at_ms, cast(sum(count) as bigint) as refused
        from ${from(refusals)}
        where ${inScope(scope)} and kind = ${kind} and subject in (${sql.join(subjects)}) and starts_at_ms >= ${fromMs}
        group by subject, reason order by 4 desc, reason`.execute(db)
      return rows.map(({ subject, reason, starts_at_ms, refused }) => ({
        accountId: scope.accountId,
        environment: scope.environment,
        kind,
        subject,
        reason,
        startsAtMs: Number(starts_at_ms),
        count: Number(refused),
      }))
    },

    async readOpenHolds() {
      // A nonce begins with its time: of older payments that are still open, the sweep is hours behind.
      const recent = boundOf(dialect, 'transaction', idsFrom('txn', Date.now() - openWithinMs))
      const { rows } = await sql<{ open: Int | null; first_expires_at_ms: Int | null }>`
        select cast(sum(m.open_payments) as bigint) as open, min((
          select min(p.expires_at_ms) from ${from(payments)} p
          where p.account_id = m.account_id and p.nonce >= ${recent} and p.mandate_id = m.id and p.epoch = m.epoch
            and p.status = 'open')) as first_expires_at_ms
        from ${from(mandates)} m where m.open_payments > 0 ${inTime}`.execute(db)
      const [row] = rows
      const first = row?.first_expires_at_ms ?? null
      return { count: Number(row?.open ?? 0), firstExpiresAtMs: first === null ? null : Number(first) }
    },
  }
}

interface ActivityRow {
  readonly subject: unknown
  readonly starts_at_ms: Int
  readonly paid_count: Int
  readonly paid_high: Int
  readonly paid_low: Int
  readonly approved_count: Int
  readonly denied_count: Int
}

interface BudgetsRow {
  readonly active_mandates: Int
  readonly remaining_high: Int
  readonly remaining_low: Int
  readonly held_high: Int
  readonly held_low: Int
  readonly stopped_mandates: Int
  readonly open_payments: Int
}

interface RefusalRow {
  readonly subject: string
  readonly reason: Refusal['reason']
  readonly starts_at_ms: Int
  readonly refused: Int
}

/** Where the stretch of a quarter begins; written out, since SQLite takes a bound number for one with a fraction. */
function stretchOf({ fromMs, stretchMs }: ActivityQuestion): RawBuilder<unknown> {
  if (stretchMs === undefined) return sql`starts_at_ms`
  const [from, width] = [sql.lit(fromMs), sql.lit(stretchMs)]
  return sql`(${from} + (starts_at_ms - ${from}) / ${width} * ${width})`
}

export function sumWhere(condition: RawBuilder<unknown>, value: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`cast(coalesce(sum(case when ${condition} then ${value} else 0 end), 0) as bigint)`
}

/** The sum of amounts, from its two halves. */
export function halves(high: Int | null | undefined, low: Int | null | undefined): MicroUsdc {
  return sumOfHalves(high ?? 0, low ?? 0)
}

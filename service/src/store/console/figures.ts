import type { Kysely, RawBuilder } from 'kysely'
import { sql } from 'kysely'

import type { Scope } from '../../domain/records.ts'
import { activityOf, sumOfHalves } from '../activity.ts'
import type { ConsoleDialect } from './source.ts'
import type {
  Activity,
  ActivityQuestion,
  Budgets,
  ChecklistFacts,
  ConsoleReads,
  Refusal,
  RefusalQuestion,
} from './store.ts'
import { toConsoleMandate, withAgent, type ConsoleMandateRow } from './rows.ts'
import type { Int, Tables } from '../rows.ts'

/** Most open holds that are counted. */
export const mostCounted = 10_000

/** How many of the budgets that are nearest to their end are named. */
const mostNearest = 5

type Figures = Pick<
  ConsoleReads,
  'readActivity' | 'readBudgets' | 'countStoppedMandates' | 'readChecklist' | 'readRefusals'
>

/** Whether something can still be paid under a mandate: of a revoked agent nothing can. */
export function isActiveMandate({ accountId }: Scope, nowMs: number): RawBuilder<unknown> {
  return sql`status = 'active' and expires_at_ms > ${nowMs} and agent_id not in (
    select id from agents where account_id = ${accountId} and status = 'revoked')`
}

const isStopped = sql`stopped_by is not null and status = 'paused'`

/** The sums that the console shows. */
export function prepareFigures(db: Kysely<Tables>, { pending, inTime }: ConsoleDialect): Figures {
  const [beforeSource = '', afterSource = '', afterAccount = ''] = activityOf('§', '§').split('§')

  /** What is kept and what is not added up yet, from one moment, so that nothing is missing or counted twice. */
  function activity(scope: Scope, { dimension, subjects, fromMs }: ActivityQuestion): RawBuilder<unknown> {
    const fits = sql`account_id = ${scope.accountId} and environment = ${scope.environment}
      and dimension = ${dimension} and subject in (${sql.join(subjects)}) and starts_at_ms >= ${fromMs}`
    const columns = sql.raw(
      'subject, starts_at_ms, paid_count, paid_high, paid_low, approved_count, denied_count',
    )
    return sql`
      select ${columns} from activity where ${fits}
      union all
      select ${columns} from (
        ${sql.raw(beforeSource)}${pending(scope)}${sql.raw(afterSource)}${scope.accountId}${sql.raw(afterAccount)}
      ) pending
      where ${fits}`
  }

  return {
    async readActivity(scope, question): Promise<Activity[]> {
      if (question.subjects.length === 0) return []
      const startsAt = question.isTotal ? sql`min(starts_at_ms)` : stretchOf(question)
      const { rows } = await sql<ActivityRow>`
        select subject, ${startsAt} as starts_at_ms, ${sumOf('paid_count')}, ${sumOf('paid_high')},
          ${sumOf('paid_low')}, ${sumOf('approved_count')}, ${sumOf('denied_count')}
        from (${activity(scope, question)}) parts
        group by subject ${question.isTotal ? sql`` : sql`, ${stretchOf(question)}`}
        order by 1, 2`.execute(db)
      return rows.map(toActivity)
    },

    async readBudgets(scope, nowMs): Promise<Budgets> {
      const own = sql`account_id = ${scope.accountId} and environment = ${scope.environment}`
      const isActive = isActiveMandate(scope, nowMs)
      const left = sql`(max_total_micro - spent_micro)`
      const { rows } = await sql<BudgetsRow>`
        select ${sumWhere(isActive, sql`1`)} as active_mandates,
          ${sumWhere(isActive, sql`${left} >> 32`)} as remaining_high,
          ${sumWhere(isActive, sql`${left} & 4294967295`)} as remaining_low,
          ${sumWhere(sql`held_micro > 0`, sql`held_micro >> 32`)} as held_high,
          ${sumWhere(sql`held_micro > 0`, sql`held_micro & 4294967295`)} as held_low,
          ${sumWhere(isStopped, sql`1`)} as stopped_mandates
        from mandates where ${own} ${inTime}`.execute(db)
      const [sums] = rows
      const nearest = await sql<ConsoleMandateRow>`
        select ${withAgent('m', scope)} from (
          select * from mandates where ${own} and ${isActive} and spent_micro > 0 ${inTime}
          order by cast(spent_micro as double precision) / max_total_micro desc, id desc
          limit ${sql.lit(mostNearest)}) m`.execute(db)
      return {
        activeMandates: Number(sums?.active_mandates ?? 0),
        remainingMicro: sumOfHalves(sums?.remaining_high ?? 0, sums?.remaining_low ?? 0),
        heldMicro: sumOfHalves(sums?.held_high ?? 0, sums?.held_low ?? 0),
        stoppedMandates: Number(sums?.stopped_mandates ?? 0),
        openHolds: await countOpenHolds(scope, nowMs),
        nearest: nearest.rows.map(toConsoleMandate),
      }
    },

    async countStoppedMandates({ accountId, environment }): Promise<number> {
      const { rows } = await sql<{ stopped: Int }>`
        select count(*) as stopped from mandates
        where account_id = ${accountId} and environment = ${environment} and ${isStopped} ${inTime}`.execute(
        db,
      )
      return Number(rows[0]?.stopped ?? 0)
    },

    async readChecklist(scope): Promise<ChecklistFacts> {
      const any = (table: string, condition = sql``) =>
        sql`exists (select 1 from ${sql.table(table)}
          where account_id = ${scope.accountId} and environment = ${scope.environment} ${condition})`
      // Proofs are of the sandbox, so nothing is looked for where there are none.
      const proof = scope.environment === 'sandbox' ? any('holds') : sql`1 = 0`
      const { rows } = await sql<{ step: string }>`
        select 'agent' as step where ${any('agents')} union all
        select 'mandate' where ${any('mandates')} union all
        select 'seller' where ${any('sellers')} union all
        select 'proof' where ${proof} union all
        select 'paid' where ${any('mandates', sql`and spent_micro > 0`)}`.execute(db)
      const done = new Set(rows.map(({ step }) => step))
      return {
        agent: done.has('agent'),
        mandate: done.has('mandate'),
        seller: done.has('seller'),
        proof: done.has('proof'),
        paid: done.has('paid'),
      }
    },

    async readRefusals(scope, { kind, subjects, fromMs }: RefusalQuestion): Promise<Refusal[]> {
      if (subjects.length === 0) return []
      const { rows } = await sql<RefusalRow>`
        select subject, reason, min(starts_at_ms) as starts_at_ms, ${sumOf('refused_count')}
        from refusals
        where account_id = ${scope.accountId} and environment = ${scope.environment} and kind = ${kind}
          and subject in (${sql.join(subjects)}) and starts_at_ms >= ${fromMs}
        group by subject, reason order by 4 desc, reason`.execute(db)
      return rows.map((row) => ({
        accountId: scope.accountId,
        environment: scope.environment,
        kind,
        subject: row.subject,
        reason: row.reason,
        startsAtMs: Number(row.starts_at_ms),
        count: Number(row.refused_count),
      }))
    },
  }

  async function countOpenHolds({ accountId, environment }: Scope, nowMs: number): Promise<number> {
    const { rows } = await sql<{ open_holds: Int }>`
      select count(*) as open_holds from (
        select 1 from holds where account_id = ${accountId} and status = 'open' and expires_at_ms > ${nowMs}
          and environment = ${environment} limit ${sql.lit(mostCounted)}) open_ones`.execute(db)
    return Number(rows[0]?.open_holds ?? 0)
  }
}

interface ActivityRow {
  subject: string
  starts_at_ms: Int
  paid_count: Int
  paid_high: Int
  paid_low: Int
  approved_count: Int
  denied_count: Int
}

interface BudgetsRow {
  active_mandates: Int
  remaining_high: Int
  remaining_low: Int
  held_high: Int
  held_low: Int
  stopped_mandates: Int
}

interface RefusalRow {
  subject: string
  reason: Refusal['reason']
  starts_at_ms: Int
  refused_count: Int
}

/** Where the stretch of a quarter begins; written out, since SQLite takes a bound number for one with a fraction. */
function stretchOf({ fromMs, stretchMs }: ActivityQuestion): RawBuilder<unknown> {
  if (stretchMs === undefined) return sql`starts_at_ms`
  const [from, width] = [sql.lit(fromMs), sql.lit(stretchMs)]
  return sql`(${from} + (starts_at_ms - ${from}) / ${width} * ${width})`
}

function sumOf(column: string): RawBuilder<unknown> {
  return sql.raw(`cast(sum(${column}) as bigint) as ${column}`)
}

function sumWhere(condition: RawBuilder<unknown>, value: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`cast(coalesce(sum(case when ${condition} then ${value} else 0 end), 0) as bigint)`
}

function toActivity(row: ActivityRow): Activity {
  return {
    subject: row.subject,
    startsAtMs: Number(row.starts_at_ms),
    paidCount: Number(row.paid_count),
    paidMicro: sumOfHalves(row.paid_high, row.paid_low),
    approvedCount: Number(row.approved_count),
    deniedCount: Number(row.denied_count),
  }
}

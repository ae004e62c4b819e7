import { getOverview, type Activity as WireActivity, type NearBudget } from '@purser/wire/console/overview'
import { denialCodes } from '@purser/wire/policy'

import { toOutstanding } from '../../domain/audit.ts'
import { formatSigned, formatSum } from '../../domain/money.ts'
import { remainingBudget } from '../../domain/policy.ts'
import {
  dayMs,
  hourMs,
  netMicro,
  quarterMs,
  quarterStart,
  startsOf,
  sumBetween,
  type Bucket,
} from '../../domain/buckets.ts'
import { calendarPeriodAt } from '../../domain/time/calendar.ts'
import { timeIn } from '../../domain/time/test-clock.ts'
import { ok } from '../../http/answers.ts'
import type { Serve } from '../../http/serve.ts'
import type { Activity, ConsoleMandate } from '../../store/console/store.ts'
import { toTimestamp, type RouteContext } from '../context.ts'

export function serveConsoleOverview(
  serve: Serve,
  { store, now }: Pick<RouteContext, 'store' | 'now'>,
): void {
  serve(getOverview, async ({ caller, query }) => {
    const nowMs = timeIn(caller, now)
    const timeZone = query.time_zone ?? 'UTC'
    const { startsAtMs: dayStartsAtMs } = calendarPeriodAt({ calendar: 'day', timeZone }, nowMs)
    // The last hour is incomplete, so the first quarter is between 23 and 24 hours ago.
    const hoursStartMs = quarterStart(nowMs) + quarterMs - dayMs
    const [budgets, checklist, all, denied] = await Promise.all([
      store.readBudgets(caller, nowMs),
      store.readChecklist(caller),
      store.readActivity(caller, {
        dimension: 'all',
        subjects: [''],
        fromMs: Math.min(dayStartsAtMs, hoursStartMs),
      }),
      store.readActivity(caller, {
        dimension: 'reason',
        subjects: denialCodes,
        fromMs: hoursStartMs,
        isTotal: true,
      }),
    ])
    const spentLastDay = await store.readActivity(caller, {
      dimension: 'mandate',
      subjects: budgets.nearest.map(({ id }) => id),
      fromMs: hoursStartMs,
      isTotal: true,
    })
    const hours = sumBetween(all, startsOf(hoursStartMs, hourMs, 24))
    const reasons = denialCodes
      .map((code) => ({
        reason_code: code,
        denied_count: denied.find(({ subject }) => subject === code)?.deniedCount ?? 0,
      }))
      .filter(({ denied_count }) => denied_count > 0)
      .sort((left, right) => right.denied_count - left.denied_count)
    const today = sumBetween(all, [dayStartsAtMs, Infinity])
    return ok({
      at: toTimestamp(nowMs),
      day_starts_at: toTimestamp(dayStartsAtMs),
      spent_today: formatSigned(netMicro(today)),
      paid_today: today[0]?.paidCount ?? 0,
      remaining: formatSum(budgets.remainingMicro),
      active_mandates: budgets.activeMandates,
      open_holds: { count: budgets.openHolds, amount: formatSum(budgets.heldMicro) },
      authorized: toOutstanding(budgets.authorized),
      last_day_starts_at: toTimestamp(hoursStartMs),
      denied_last_day: hours.reduce((sum, { deniedCount }) => sum + deniedCount, 0),
      hours: hours.map(toWireActivity),
      nearest_budgets: budgets.nearest.map((mandate) => toNearBudget(mandate, spentLastDay, nowMs)),
      denial_reasons: reasons,
      stopped_mandates: budgets.stoppedMandates,
      frozen_budgets: budgets.frozenBudgets,
      full_limits: { ...budgets.full, named: [...budgets.full.named] },
      checklist,
    })
  })
}

/** The activity in a bucket, in interface format. */
export function toWireActivity(bucket: Bucket): WireActivity {
  return {
    starts_at: toTimestamp(bucket.startsAtMs),
    paid_count: bucket.paidCount,
    paid_total: formatSum(bucket.paidMicro),
    refunded_count: bucket.refundedCount,
    refunded_total: formatSum(bucket.refundedMicro),
    approved_count: bucket.approvedCount,
    denied_count: bucket.deniedCount,
  }
}

function toNearBudget(mandate: ConsoleMandate, spent: readonly Activity[], nowMs: number): NearBudget {
  const spentLastDay = netMicro(spent.filter(({ subject }) => subject === mandate.id))
  const left = remainingBudget(mandate)
  const lastsMs = spentLastDay > 0n ? Number((left * BigInt(dayMs)) / spentLastDay) : Infinity
  const isExhausted = nowMs + lastsMs < mandate.expiresAtMs
  return {
    mandate_id: mandate.id,
    agent_id: mandate.agentId,
    agent_name: mandate.agentName,
    purpose: mandate.purpose,
    max_spend_total: mandate.maxTotalText,
    spent_total: formatSum(mandate.spentMicro),
    held_total: formatSum(mandate.heldMicro),
    authorized_total: formatSum(mandate.authorizedMicro),
    remaining_budget: formatSum(left),
    spent_last_day: formatSigned(spentLastDay),
    exhausted_at: isExhausted ? toTimestamp(nowMs + lastsMs) : null,
    expires_at: mandate.expiresAtText,
  }
}

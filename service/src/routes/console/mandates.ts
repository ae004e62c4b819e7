import {
  getConsoleMandate,
  getMandateSpend,
  listConsoleMandates,
  type ListedMandate,
} from '@purser/wire/console/mandates'

import { budgetPathOf } from '../../domain/limits.ts'
import { formatSum, type MicroUsdc } from '../../domain/money.ts'
import type { Budget, Scope } from '../../domain/records.ts'
import { dayMs, hourMs, netMicro, quarterStart, startsOf, sumBetween } from '../../domain/buckets.ts'
import { commonWidth, daysFrom, daysUpTo } from '../../domain/spending-periods.ts'
import { timeIn } from '../../domain/time/test-clock.ts'
import { ok, refuse } from '../../http/answers.ts'
import { answerPage } from '../../http/pagination.ts'
import type { Serve } from '../../http/serve.ts'
import { readDateTime } from '../../domain/time/date-time.ts'
import type { ConsoleMandate } from '../../store/console/store.ts'
import { toWireActivity } from './overview.ts'
import type { RouteContext } from '../context.ts'
import { toWire as toWireBudget } from '../budgets.ts'
import { toWireUsage } from '../limits.ts'
import { toWire as toWireMandate } from '../mandates.ts'
import { toWire as toWireProof } from '../payments.ts'

const widths = { hour: hourMs, day: dayMs } as const

/** Max displayed open holds of a mandate. */
const mostOpenHolds = 100

export function serveConsoleMandates(
  serve: Serve,
  { store, now }: Pick<RouteContext, 'store' | 'now'>,
): void {
  serve(listConsoleMandates, ({ caller, query, url }) => {
    const filter = {
      agentId: query.agent_id,
      budgetId: query.budget_id,
      status: query.status,
      text: query.q,
      nowMs: timeIn(caller, now),
    }
    return answerPage(query, url, (page) => store.listConsoleMandates(caller, filter, page), toWire)
  })

  serve(getConsoleMandate, async ({ caller, params }) => {
    const key = { ...caller, id: params.mandate_id }
    const mandate = await store.findConsoleMandate(key)
    if (!mandate) return refuse('not_found')
    const nowMs = timeIn(caller, now)
    const [holds, usage, budgets, [sums]] = await Promise.all([
      store.listOpenHolds(key, nowMs, mostOpenHolds),
      store.readMandateUsage(key, nowMs),
      budgetsAbove(caller, mandate),
      store.readActivity(caller, { dimension: 'mandate', subjects: [mandate.id], fromMs: 0, isTotal: true }),
    ])
    return ok({
      ...toWire(mandate),
      usage: usage.map(toWireUsage),
      budgets: budgets.map(toWireBudget),
      paid_count: sums?.paidCount ?? 0,
      denied_count: sums?.deniedCount ?? 0,
      open_holds: holds.map((hold) => toWireProof(hold, nowMs)),
    })
  })

  /** The shared budgets that new payments of a mandate count in, nearest first. */
  async function budgetsAbove(scope: Scope, mandate: ConsoleMandate): Promise<readonly Budget[]> {
    const agent = await store.findAgent({ ...scope, id: mandate.agentId })
    const path = budgetPathOf(mandate, agent)
    const found = await Promise.all(path.map((id) => store.findBudget({ ...scope, id })))
    return found.filter((budget) => budget !== undefined)
  }

  serve(getMandateSpend, async ({ caller, params, query }) => {
    const mandate = await store.findConsoleMandate({ ...caller, id: params.mandate_id })
    if (!mandate) return refuse('not_found')
    const step = query.step ?? 'day'
    const count = query.buckets ?? 30
    const startsMs = bucketStarts({ ...query, step, count }, timeIn(caller, now))
    const subjects = [mandate.id]
    const parts = await store.readActivity(caller, {
      dimension: 'mandate',
      subjects,
      fromMs: startsMs[0]!,
      bucketMs: commonWidth(startsMs),
    })
    // Everything spent minus what was spent since then is what was spent before.
    const since = netMicro(parts)
    const before = mandate.spentMicro > since ? mandate.spentMicro - since : 0n
    return ok({
      mandate_id: mandate.id,
      step,
      spent_before: formatSum(before as MicroUsdc),
      buckets: sumBetween(parts, startsMs).map(toWireActivity),
    })
  })
}

/** The starts of the buckets, and the end of the last one. */
function bucketStarts(
  asked: {
    readonly starts_at?: string
    readonly time_zone?: string
    readonly step: keyof typeof widths
    readonly count: number
  },
  nowMs: number,
): number[] {
  const { starts_at, time_zone: timeZone, step, count } = asked
  const givenMs = starts_at === undefined ? undefined : Math.min(nowMs, Math.max(0, readDateTime(starts_at)))
  if (step === 'day' && timeZone !== undefined) {
    const days = { timeZone, count }
    return givenMs === undefined ? daysUpTo(nowMs, days) : daysFrom(givenMs, days)
  }
  const widthMs = widths[step]
  const firstMs = givenMs ?? nowMs - (nowMs % widthMs) - (count - 1) * widthMs
  return startsOf(quarterStart(firstMs), widthMs, count)
}

function toWire(mandate: ConsoleMandate): ListedMandate {
  return {
    ...toWireMandate(mandate),
    agent_name: mandate.agentName,
    is_agent_revoked: mandate.isAgentRevoked,
    is_stopped: mandate.isStopped,
  }
}

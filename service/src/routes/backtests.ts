import { backtestMandate, type Backtest } from '@purser/wire/mandates/backtests'

import { dayMs } from '../domain/buckets.ts'
import { addMicro, formatSum, type MicroUsdc } from '../domain/money.ts'
import type { PolicyDecision } from '../domain/policy.ts'
import { timeIn } from '../domain/time/test-clock.ts'
import { ok, refuse, unprocessable } from '../http/answers.ts'
import type { Serve } from '../http/serve.ts'
import { readDateTime } from '../domain/time/date-time.ts'
import { errorOf } from '../http/validation/refusal.ts'
import type { BacktestExample, BacktestFlips, BacktestReport } from '../store/console/store.ts'
import { toTimestamp, type RouteContext } from './context.ts'
import { limitFaults, toLimits } from './limits.ts'
import { termsOf } from './mandates.ts'

const defaultDays = 30

export function serveBacktests(
  serve: Serve,
  { store, now, ids }: Pick<RouteContext, 'store' | 'now' | 'ids'>,
): void {
  serve(backtestMandate, async ({ caller, params, body }) => {
    // The end is inclusive, to the millisecond.
    const toMs = body.to === undefined ? timeIn(caller, now) + 1 : readDateTime(body.to)
    const fromMs = body.from === undefined ? toMs - defaultDays * dayMs : readDateTime(body.from)
    if (!(fromMs < toMs)) {
      return unprocessable([
        errorOf('value_error', ['body', 'to'], body.to, { error: '`to` must be later than `from`' }),
      ])
    }
    const { limits, ...terms } = body.draft
    const faults = limitFaults(limits ?? [], { maySplit: true })
    if (faults.length > 0) {
      return unprocessable(
        faults.map((fault) => ({ ...fault, loc: ['body', 'draft', ...fault.loc.slice(1)] })),
      )
    }
    const draft = {
      ...termsOf(terms),
      ...(limits && { limits: limits.length === 0 ? null : toLimits(limits, () => ids.next('limit')) }),
    }
    const report = await store.backtest(
      { ...caller, id: params.mandate_id },
      { draft, fromMs, toMs, now: () => performance.now() },
    )
    return report ? ok(toWire(report)) : refuse('not_found')
  })
}

function toWire(report: BacktestReport): Backtest {
  return {
    from: toTimestamp(report.fromMs),
    to: toTimestamp(report.toMs),
    is_complete: report.isComplete,
    judged: report.judged,
    to_denied: toWireFlips(report.toDenied),
    to_approved: toWireFlips(report.toApproved),
    not_judged: report.notJudged.map(({ reason, count }) => ({ reason, count })),
  }
}

function toWireFlips({ byCheck, examples }: BacktestFlips): Backtest['to_denied'] {
  const sum = (count: (one: BacktestFlips['byCheck'][number]) => number) =>
    byCheck.reduce((total, one) => total + count(one), 0)
  return {
    evaluations: sum(({ evaluations }) => evaluations),
    payments: sum(({ payments }) => payments),
    amount: formatSum(byCheck.reduce((total, one) => addMicro(total, one.amountMicro), 0n as MicroUsdc)),
    by_check: byCheck.map(({ check, code, evaluations, payments, amountMicro }) => ({
      check: code === 'resource_not_allowed' ? `${check}a` : String(check),
      reason_code: code,
      evaluations,
      payments,
      amount: formatSum(amountMicro),
    })),
    examples: examples.map(toWireExample),
  }
}

function toWireExample(example: BacktestExample): Backtest['to_denied']['examples'][number] {
  return {
    kind: example.kind,
    transaction_id: example.id,
    nonce: example.nonce,
    created_at: toTimestamp(example.atMs),
    amount: example.amountText,
    resource_url: example.resourceUrl,
    merchant_domain: example.merchantDomain,
    category: example.category,
    recorded: toWireDecision(example.recorded),
    drafted: toWireDecision(example.drafted),
  }
}

function toWireDecision(one: PolicyDecision) {
  const { decision } = one
  if (decision === 'approved') return { decision, reason_code: 'within_policy' as const, reason_detail: null }
  return { decision, reason_code: one.code, reason_detail: one.detail }
}

import { maxItems } from '@purser/wire/lengths'
import { getSettlements } from '@purser/wire/accounting/settlements'

import { dayMs, dayStart } from '../domain/buckets.ts'
import { formatSigned } from '../domain/money.ts'
import { timeIn } from '../domain/time/test-clock.ts'
import { ok, refuse, unprocessable } from '../http/answers.ts'
import type { Serve } from '../http/serve.ts'
import type { Activity } from '../store/console/store.ts'
import type { RouteContext } from './context.ts'

const defaultDays = 30

export function serveSettlements(serve: Serve, { store, now }: Pick<RouteContext, 'store' | 'now'>): void {
  serve(getSettlements, async ({ caller, params, query }) => {
    const toMs = query.to === undefined ? dayStart(timeIn(caller, now)) : readDay(query.to)
    if (toMs === undefined) return notADay('to', query.to)
    const fromMs =
      query.from === undefined ? Math.max(firstDayMs, toMs - (defaultDays - 1) * dayMs) : readDay(query.from)
    if (fromMs === undefined) return notADay('from', query.from)
    const days = (toMs - fromMs) / dayMs + 1
    if (!(days >= 1 && days <= maxItems.settlementDays)) return wrongRange(query.from)
    const seller = await store.findSellerById({ ...caller, id: params.seller_id })
    if (!seller) return refuse('not_found')
    const { domain } = seller
    const question = { dimension: 'seller', subjects: [domain], fromMs, untilMs: toMs + dayMs } as const
    const settled = await store.readActivity(caller, question)
    return ok({
      seller_id: seller.id,
      domain,
      from: toDay(fromMs),
      to: toDay(toMs),
      days: settled.map((one) => ({ day: toDay(one.startsAtMs), ...sumsOf([one]) })),
      total: sumsOf(settled),
    })
  })
}

function sumsOf(days: readonly Activity[]) {
  const grossMicro = days.reduce((sum, { paidMicro }) => sum + paidMicro, 0n)
  const refundedMicro = days.reduce((sum, one) => sum + one.refundedMicro, 0n)
  return {
    payments: days.reduce((sum, { paidCount }) => sum + paidCount, 0),
    gross: formatSigned(grossMicro),
    refunds: days.reduce((sum, { refundedCount }) => sum + refundedCount, 0),
    refunded: formatSigned(refundedMicro),
    net: formatSigned(grossMicro - refundedMicro),
  }
}

const firstDayMs = Date.parse('0001-01-01T00:00:00Z')

/** The start of a day in UTC; undefined for a day that no month has, and for the year 0. */
function readDay(text: string): number | undefined {
  const startMs = Date.parse(`${text}T00:00:00Z`)
  return startMs >= firstDayMs && toDay(startMs) === text ? startMs : undefined
}

function toDay(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

function notADay(name: 'from' | 'to', input: string | undefined) {
  return unprocessable([
    {
      type: 'value_error',
      loc: ['query', name],
      msg: 'Value error, this is not a day of the calendar; send one such as 2026-11-20',
      input,
      ctx: { error: 'not a day of the calendar' },
    },
  ])
}

function wrongRange(input: string | undefined) {
  return unprocessable([
    {
      type: 'value_error',
      loc: ['query', 'from'],
      msg: `Value error, send a first day that is at most ${maxItems.settlementDays - 1} days before \`to\`, and not after it`,
      ...(input !== undefined && { input }),
      ctx: { error: 'not a range of days' },
    },
  ])
}

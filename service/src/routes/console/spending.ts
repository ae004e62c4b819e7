import { getSpending, type Spending, type SpendingBucket } from '@purser/wire/console/spending'

import { netMicro, sumBetween, type Bucket } from '../../domain/buckets.ts'
import { formatSigned, formatSum } from '../../domain/money.ts'
import type { Scope } from '../../domain/records.ts'
import { commonWidth, spendingPeriods } from '../../domain/spending-periods.ts'
import { timeIn } from '../../domain/time/test-clock.ts'
import { ok } from '../../http/answers.ts'
import type { Serve } from '../../http/serve.ts'
import { toTimestamp, type RouteContext } from '../context.ts'

type SplitBy = NonNullable<Spending['split']>['by']

const dimensions = { agent: 'agent', seller: 'payee', category: 'category' } as const

/** How many items are shown separately. */
const maxParts = 5

export function serveConsoleSpending(
  serve: Serve,
  { store, now }: Pick<RouteContext, 'store' | 'now'>,
): void {
  serve(getSpending, async ({ caller, query }) => {
    const nowMs = timeIn(caller, now)
    const period = query.period ?? '24h'
    const periods = spendingPeriods(period, { nowMs, timeZone: query.time_zone ?? 'UTC' })
    const { startsMs, previousMs } = periods
    const [current, previous, split] = await Promise.all([
      readSums(caller, startsMs),
      readSums(caller, previousMs),
      query.split ? readSplit(caller, query.split, startsMs) : null,
    ])
    const body: Spending = {
      at: toTimestamp(nowMs),
      period,
      starts_at: toTimestamp(startsMs[0]!),
      ends_at: toTimestamp(startsMs.at(-1)!),
      spent: netSum(current),
      paid_count: countPaid(current),
      buckets: current.map((bucket, index) => toWireBucket(bucket, startsMs[index + 1]!)),
      previous: {
        starts_at: toTimestamp(previousMs[0]!),
        ends_at: toTimestamp(previousMs.at(-1)!),
        spent: netSum(previous),
        paid_count: countPaid(previous),
        buckets: previous.map((bucket) => netSum([bucket])),
      },
      split: split && {
        by: split.by,
        parts: split.parts.map(toWirePart),
        rest: restOf(current, split.parts),
      },
    }
    return ok(body)
  })

  /** The sums between the times. */
  async function readSums(scope: Scope, timesMs: readonly number[]): Promise<Bucket[]> {
    const question = { dimension: 'all', subjects: [''], ...rangeOf(timesMs) } as const
    return sumBetween(await store.readActivity(scope, question), timesMs)
  }

  async function readSplit(scope: Scope, by: SplitBy, startsMs: readonly number[]) {
    const dimension = dimensions[by]
    const subjects = await store.topSubjects(scope, { dimension, fromMs: startsMs[0]!, limit: maxParts })
    const [sums, names] = await Promise.all([
      store.readActivity(scope, { dimension, subjects, ...rangeOf(startsMs) }),
      by === 'agent' ? store.findNames(scope, { agents: subjects, mandates: [], sellers: [] }) : undefined,
    ])
    const parts = subjects
      .map((subject) => ({
        subject,
        name: names?.get(subject) ?? null,
        buckets: sumBetween(
          sums.filter((one) => one.subject === subject),
          startsMs,
        ),
      }))
      .sort((one, other) => compareMicro(netMicro(other.buckets), netMicro(one.buckets)))
    return { by, parts }
  }
}

interface Part {
  readonly subject: string
  readonly name: string | null
  readonly buckets: readonly Bucket[]
}

function toWirePart({ subject, name, buckets }: Part) {
  return { subject, name, spent: netSum(buckets), buckets: buckets.map((bucket) => netSum([bucket])) }
}

/** The spending of all other items. */
function restOf(all: readonly Bucket[], parts: readonly Part[]) {
  const restMicro = all.map((bucket, index) =>
    parts.reduce((rest, { buckets }) => rest - netMicro([buckets[index]!]), netMicro([bucket])),
  )
  return {
    spent: formatSigned(restMicro.reduce((total, one) => total + one, 0n)),
    buckets: restMicro.map(formatSigned),
  }
}

/** A range of equal buckets whose boundaries include every start. */
function rangeOf(timesMs: readonly number[]) {
  const starts = timesMs.slice(0, -1)
  const widthMs = commonWidth(starts)
  const range = { fromMs: starts[0] ?? 0, untilMs: timesMs.at(-1) ?? 0 }
  return widthMs > 0 ? { ...range, bucketMs: widthMs } : range
}

function toWireBucket(bucket: Bucket, endsAtMs: number): SpendingBucket {
  return {
    starts_at: toTimestamp(bucket.startsAtMs),
    ends_at: toTimestamp(endsAtMs),
    spent: netSum([bucket]),
    paid_count: bucket.paidCount,
    paid_total: formatSum(bucket.paidMicro),
    refunded_count: bucket.refundedCount,
    refunded_total: formatSum(bucket.refundedMicro),
    denied_count: bucket.deniedCount,
  }
}

function countPaid(buckets: readonly Bucket[]): number {
  return buckets.reduce((count, { paidCount }) => count + paidCount, 0)
}

function netSum(buckets: readonly Bucket[]): string {
  return formatSigned(netMicro(buckets))
}

function compareMicro(one: bigint, other: bigint): number {
  return one < other ? -1 : one > other ? 1 : 0
}

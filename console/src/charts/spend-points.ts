import type { MandateSpend } from '@purser/client'

import { readSignedMicro, writeMicro } from '../text/amounts.ts'

/** What was spent by a time, refunds deducted. */
export interface SpendPoint {
  readonly atMs: number
  readonly spent: string
}

/** The cumulative spend of a mandate, two points for each bucket until a time, and one at that time. */
export function spendPoints({ spent_before, buckets }: MandateSpend, untilMs: number): SpendPoint[] {
  let spentMicro = readSignedMicro(spent_before)
  const points: SpendPoint[] = []
  for (const { starts_at, paid_total, refunded_total } of buckets) {
    const atMs = Date.parse(starts_at)
    if (atMs > untilMs) break
    points.push({ atMs, spent: writeMicro(spentMicro) })
    spentMicro += readSignedMicro(paid_total) - readSignedMicro(refunded_total)
    points.push({ atMs, spent: writeMicro(spentMicro) })
  }
  points.push({ atMs: untilMs, spent: writeMicro(spentMicro) })
  return points
}

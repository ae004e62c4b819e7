import { addMicro, type MicroUsdc } from './money.ts'

export const quarterMs = 15 * 60_000
export const hourMs = 4 * quarterMs
export const dayMs = 24 * hourMs

/** The start of the quarter of an hour that contains a time. */
export function quarterStart(atMs: number): number {
  return atMs - (atMs % quarterMs)
}

/** The start of the UTC day that contains a time. */
export function dayStart(atMs: number): number {
  return atMs - (atMs % dayMs)
}

/** The activity in one bucket of time. */
export interface Bucket {
  readonly startsAtMs: number
  readonly paidCount: number
  readonly paidMicro: MicroUsdc
  readonly refundedCount: number
  readonly refundedMicro: MicroUsdc
  readonly approvedCount: number
  readonly deniedCount: number
}

/** The starts of consecutive buckets of equal width, and the end of the last one. */
export function startsOf(firstMs: number, widthMs: number, count: number): number[] {
  return Array.from({ length: count + 1 }, (_, index) => firstMs + index * widthMs)
}

/** The sums of activity between each start and the next; activity outside is ignored. */
export function sumBetween(parts: readonly Bucket[], startsMs: readonly number[]): Bucket[] {
  return startsMs.slice(0, -1).map((startsAtMs, index) => {
    const isWithin = (part: Bucket) => part.startsAtMs >= startsAtMs && part.startsAtMs < startsMs[index + 1]!
    return parts.filter(isWithin).reduce(add, emptyBucket(startsAtMs))
  })
}

/** Payments minus refunds: negative if more was refunded, of earlier payments. */
export function netMicro(parts: readonly Pick<Bucket, 'paidMicro' | 'refundedMicro'>[]): bigint {
  return parts.reduce((sum, { paidMicro, refundedMicro }) => sum + paidMicro - refundedMicro, 0n)
}

function emptyBucket(startsAtMs: number): Bucket {
  const nothing = 0n as MicroUsdc
  const paid = { paidCount: 0, paidMicro: nothing, refundedCount: 0, refundedMicro: nothing }
  return { startsAtMs, ...paid, approvedCount: 0, deniedCount: 0 }
}

function add(left: Bucket, right: Bucket): Bucket {
  return {
    startsAtMs: left.startsAtMs,
    paidCount: left.paidCount + right.paidCount,
    paidMicro: addMicro(left.paidMicro, right.paidMicro),
    refundedCount: left.refundedCount + right.refundedCount,
    refundedMicro: addMicro(left.refundedMicro, right.refundedMicro),
    approvedCount: left.approvedCount + right.approvedCount,
    deniedCount: left.deniedCount + right.deniedCount,
  }
}

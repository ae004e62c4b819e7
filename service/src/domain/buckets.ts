import { addMicro, type MicroUsdc } from './money.ts'

const quarterMs = 15 * 60_000

/** The start of the quarter of an hour that contains a time. */
export function quarterStart(atMs: number): number {
  return atMs - (atMs % quarterMs)
}

/** The start of the UTC day that contains a time. */
export function dayStart(atMs: number): number {
  return atMs - (atMs % (96 * quarterMs))
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

/** Consecutive buckets of equal width. */
export interface BucketRange {
  readonly startsAtMs: number
  readonly widthMs: number
  readonly count: number
}

/** The activity per bucket, including empty ones; activity outside all buckets is ignored. */
export function sumBuckets(parts: readonly Bucket[], { startsAtMs, widthMs, count }: BucketRange): Bucket[] {
  const buckets = Array.from({ length: count }, (_, index) => emptyBucket(startsAtMs + index * widthMs))
  for (const part of parts) {
    const index = Math.floor((part.startsAtMs - startsAtMs) / widthMs)
    const bucket = buckets[index]
    if (bucket) buckets[index] = add(bucket, part)
  }
  return buckets
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

import { addMicro, type MicroUsdc } from './money.ts'

const quarterMs = 15 * 60_000

/** The quarter of an hour that a moment lies in, by its beginning. */
export function quarterStart(atMs: number): number {
  return atMs - (atMs % quarterMs)
}

/** The day in UTC that a moment lies in, by its beginning. */
export function dayStart(atMs: number): number {
  return atMs - (atMs % (96 * quarterMs))
}

/** What happened in a stretch of time. */
export interface Bucket {
  readonly startsAtMs: number
  readonly paidCount: number
  readonly paidMicro: MicroUsdc
  readonly approvedCount: number
  readonly deniedCount: number
}

/** Stretches of one width, one after the other. */
export interface Stretches {
  readonly startsAtMs: number
  readonly widthMs: number
  readonly count: number
}

/** What happened in each stretch, also in those in which nothing did; what lies in none is left out. */
export function sumBuckets(parts: readonly Bucket[], { startsAtMs, widthMs, count }: Stretches): Bucket[] {
  const buckets = Array.from({ length: count }, (_, index) => emptyBucket(startsAtMs + index * widthMs))
  for (const part of parts) {
    const index = Math.floor((part.startsAtMs - startsAtMs) / widthMs)
    const bucket = buckets[index]
    if (bucket) buckets[index] = add(bucket, part)
  }
  return buckets
}

function emptyBucket(startsAtMs: number): Bucket {
  return { startsAtMs, paidCount: 0, paidMicro: 0n as MicroUsdc, approvedCount: 0, deniedCount: 0 }
}

function add(left: Bucket, right: Bucket): Bucket {
  return {
    startsAtMs: left.startsAtMs,
    paidCount: left.paidCount + right.paidCount,
    paidMicro: addMicro(left.paidMicro, right.paidMicro),
    approvedCount: left.approvedCount + right.approvedCount,
    deniedCount: left.deniedCount + right.deniedCount,
  }
}

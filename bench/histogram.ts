/** Buckets per doubling: a value is known to within 1/64 of itself. */
const bucketsPerDoubling = 64
const bucketBits = 6
const largestMicros = 2 ** 31 - 1
const size = (31 - bucketBits) * bucketsPerDoubling + bucketsPerDoubling

/** Counts durations in microseconds; recording one costs a few machine instructions. */
export class Histogram {
  readonly #counts: number[]

  /** A histogram from the result of `counts`; empty without it. */
  constructor(counts: readonly number[] = []) {
    this.#counts = Array.from({ length: size }, (_, index) => counts[index] ?? 0)
  }

  /** The counts, for another process or a file. */
  get counts(): readonly number[] {
    return this.#counts
  }

  get total(): number {
    return this.#counts.reduce((sum, count) => sum + count, 0)
  }

  record(micros: number): void {
    const bucket = bucketOf(micros)
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1
  }

  add(other: Histogram): void {
    for (const [bucket, count] of other.counts.entries()) {
      this.#counts[bucket] = (this.#counts[bucket] ?? 0) + count
    }
  }

  /** The duration that this share of all (0 to 1) does not exceed; NaN if there are none. */
  percentile(share: number): number {
    let missing = Math.max(1, Math.ceil(this.total * share))
    for (const [bucket, count] of this.#counts.entries()) {
      missing -= count
      if (missing <= 0) return middleOf(bucket)
    }
    return Number.NaN
  }
}

function bucketOf(micros: number): number {
  const whole = Math.min(Math.max(0, Math.round(micros)), largestMicros)
  const shift = Math.max(0, 31 - Math.clz32(whole) - bucketBits)
  return shift * bucketsPerDoubling + (whole >> shift)
}

function middleOf(bucket: number): number {
  const shift = Math.max(0, Math.floor(bucket / bucketsPerDoubling) - 1)
  const least = (bucket - shift * bucketsPerDoubling) * 2 ** shift
  return least + (2 ** shift - 1) / 2
}

import { isIPv6 } from 'node:net'

/** A quota of requests, and the seconds in which an empty bucket refills: `q` and `w` of `RateLimit-Policy`. */
export interface Quota {
  readonly requests: number
  readonly seconds: number
}

/** Max buckets of one kind. Beyond it, the least recently used ones are dropped, which refills them. */
const maxBuckets = 20_000

interface Bucket {
  tokens: number
  filledAtMs: number
}

/** Token buckets of one kind: one per key, account or address. `nowMs` never goes back. */
export class TokenBuckets {
  readonly policy: string
  readonly #name: string
  readonly #quota: Quota
  readonly #tokensPerMs: number
  /** The least recently used bucket comes first. */
  readonly #buckets = new Map<string, Bucket>()

  constructor(name: string, quota: Quota) {
    this.#name = name
    this.#quota = quota
    this.#tokensPerMs = quota.requests / (quota.seconds * 1_000)
    this.policy = `"${name}";q=${quota.requests};w=${quota.seconds}`
  }

  /** Whether no bucket is in use. */
  get isEmpty(): boolean {
    return this.#buckets.size === 0
  }

  /** Takes a token; false if there is none. */
  take(id: string, nowMs: number): boolean {
    const bucket = this.#bucketOf(id, nowMs)
    if (bucket.tokens < 1) return false
    bucket.tokens -= 1
    return true
  }

  /** Whether the bucket has a token; does not take it. */
  hasToken(id: string, nowMs: number): boolean {
    const bucket = this.#buckets.get(id)
    return !bucket || this.#fill(bucket, nowMs).tokens >= 1
  }

  /** The value of the `RateLimit` header for a bucket: the remaining tokens, and the seconds until it is full. */
  header(id: string, nowMs: number): string {
    const bucket = this.#buckets.get(id)
    const tokens = bucket ? this.#fill(bucket, nowMs).tokens : this.#quota.requests
    const fullInSeconds = Math.ceil((this.#quota.requests - tokens) / this.#tokensPerMs / 1_000)
    return `"${this.#name}";r=${Math.floor(tokens)};t=${fullInSeconds}`
  }

  /** Whole seconds until the bucket has a token, at least one. */
  retryAfterSeconds(id: string, nowMs: number): number {
    const { tokens } = this.#bucketOf(id, nowMs)
    return Math.max(1, Math.ceil((1 - tokens) / this.#tokensPerMs / 1_000))
  }

  #bucketOf(id: string, nowMs: number): Bucket {
    const known = this.#buckets.get(id)
    const bucket = known ? this.#fill(known, nowMs) : { tokens: this.#quota.requests, filledAtMs: nowMs }
    this.#buckets.delete(id)
    if (this.#buckets.size >= maxBuckets) this.#buckets.delete(this.#buckets.keys().next().value ?? '')
    this.#buckets.set(id, bucket)
    return bucket
  }

  #fill(bucket: Bucket, nowMs: number): Bucket {
    const filled = bucket.tokens + (nowMs - bucket.filledAtMs) * this.#tokensPerMs
    bucket.tokens = filled < this.#quota.requests ? filled : this.#quota.requests
    bucket.filledAtMs = nowMs
    return bucket
  }
}

/** The identity of a client without a key: its IPv4 address, or the /64 of its IPv6 address. */
export function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined || !isIPv6(address)) return mapped ?? address
  const [head = '', tail] = address.split('%')[0]?.split('::') ?? []
  const groups = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? [] : Array.from({ length: 8 - groups.length - after.length }, () => '0')
  return [...groups, ...zeros, ...after]
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')
}

import type { Caller } from '../domain/records.ts'
import { refuse, type Answer } from './answers.ts'
import { networkOf, TokenBuckets, type Quota } from './token-buckets.ts'

/** The quota of each kind of bucket. */
export interface RateLimitSettings {
  readonly key: Quota
  readonly account: Quota
  /** For wrong keys and started sessions from one address. */
  readonly address: Quota
}

/**
 * The rate limits of one process. Every request takes a token from the buckets of its key and its account.
 * Wrong keys and session starts take a token from the bucket of their address.
 */
export class RateLimits {
  readonly #keys: TokenBuckets
  readonly #accounts: TokenBuckets
  readonly #addresses: TokenBuckets

  constructor({ key, account, address }: RateLimitSettings) {
    this.#keys = new TokenBuckets('key', key)
    this.#accounts = new TokenBuckets('account', account)
    this.#addresses = new TokenBuckets('address', address)
  }

  /** The rate limit headers for a caller, and the refusal if its key or account has no token left. */
  takeFor({ keyId, accountId }: Caller): { headers: Readonly<Record<string, string>>; refusal?: Answer } {
    const nowMs = performance.now()
    if (!this.#keys.take(keyId, nowMs)) return refused(this.#keys, keyId, nowMs)
    if (!this.#accounts.take(accountId, nowMs)) return refused(this.#accounts, accountId, nowMs)
    return { headers: headersOf(this.#keys, keyId, nowMs) }
  }

  /** Whether an address may try a key that is not cached. */
  mayTry(address: string): boolean {
    return this.#addresses.isEmpty || this.#addresses.hasToken(networkOf(address), performance.now())
  }

  /** Counts a wrong key, or a start of a session. The refusal, if the address has no token left. */
  takeForAddress(address: string): Answer | undefined {
    const network = networkOf(address)
    const nowMs = performance.now()
    if (this.#addresses.take(network, nowMs)) return undefined
    return refused(this.#addresses, network, nowMs).refusal
  }
}

function refused(buckets: TokenBuckets, id: string, nowMs: number) {
  const headers = headersOf(buckets, id, nowMs)
  const retryAfter = { 'retry-after': String(buckets.retryAfterSeconds(id, nowMs)) }
  return { headers, refusal: { ...refuse('rate_limited'), headers: { ...headers, ...retryAfter } } }
}

function headersOf(buckets: TokenBuckets, id: string, nowMs: number): Record<string, string> {
  return { 'ratelimit-policy': buckets.policy, ratelimit: buckets.header(id, nowMs) }
}

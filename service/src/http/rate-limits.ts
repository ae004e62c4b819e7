import { isIP } from 'node:net'

import type { FastifyRequest } from 'fastify'

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

  /** Whether the address of a request may try a key that is not cached. */
  mayTry(request: FastifyRequest): boolean {
    if (this.#addresses.isEmpty) return true
    return this.#addresses.hasToken(networkOf(clientAddressOf(request)), performance.now())
  }

  /** Counts a wrong key, or a start of a session. The refusal, if the address of the request has no token left. */
  takeForAddress(request: FastifyRequest): Answer | undefined {
    const network = networkOf(clientAddressOf(request))
    const nowMs = performance.now()
    if (this.#addresses.take(network, nowMs)) return undefined
    return refused(this.#addresses, network, nowMs).refusal
  }
}

/** The address of a client: the one that a trusted proxy names, or else that of the connection. */
function clientAddressOf(request: FastifyRequest): string {
  // A closed connection has no address, and some proxies add the port.
  const ip = request.ip as string | undefined
  const address = ip?.replace(/^([\d.]+):\d+$|^\[(.+)\](:\d+)?$/, '$1$2') ?? ''
  return isIP(address) === 0 ? (request.raw.socket.remoteAddress ?? '') : address
}

function refused(buckets: TokenBuckets, id: string, nowMs: number) {
  const headers = headersOf(buckets, id, nowMs)
  const retryAfter = { 'retry-after': String(buckets.retryAfterSeconds(id, nowMs)) }
  return { headers, refusal: { ...refuse('rate_limited'), headers: { ...headers, ...retryAfter } } }
}

function headersOf(buckets: TokenBuckets, id: string, nowMs: number): Record<string, string> {
  return { 'ratelimit-policy': buckets.policy, ratelimit: buckets.header(id, nowMs) }
}

import {
  createSeller,
  getSellerVerification,
  listSellers,
  releaseDomain,
  verifySeller,
  type Seller as WireSeller,
  type SellerVerification,
} from '@purser/wire/sellers'

import { isPublicSuffix, normalizeHostName } from '../domain/host-name.ts'
import type { Caller, ListedSeller } from '../domain/records.ts'
import { challengeFor } from '../domain/seller-verification.ts'
import { timeIn } from '../domain/time/test-clock.ts'
import { created, ok, refuse, unprocessable, type Answer } from '../http/answers.ts'
import { answerPage } from '../http/pagination.ts'
import type { Serve } from '../http/serve.ts'
import { TokenBuckets } from '../http/token-buckets.ts'
import { parseExactly } from '../http/validation/exact-json.ts'
import { eventBy, toTimestamp, type RouteContext } from './context.ts'

/** Rate limit of domain checks per account. */
const verificationQuota = { requests: 10, seconds: 60 }

export function serveSellers(
  serve: Serve,
  { store, now, ids, sellerVerification: { isRequired, key, proveDomain } }: RouteContext,
): void {
  const looks = new TokenBuckets('verification', verificationQuota)

  serve(createSeller, async ({ caller, body, json = '' }) => {
    const domain = normalizeHostName(body.domain.trim())
    if (isPublicSuffix(domain)) return ofNobody(body.domain)
    const nowMs = timeIn(caller, now)
    const seller: ListedSeller = {
      accountId: caller.accountId,
      environment: caller.environment,
      id: ids.next('seller'),
      name: body.name,
      domain,
      priceConfig: JSON.stringify((parseExactly(json) as WireSeller).price_config),
      createdAtMs: nowMs,
      isPending: isRequired,
    }
    const event = eventBy({ ids, now }, caller, 'seller.created', seller.id, {
      data: { domain },
      atMs: nowMs,
    })
    const outcome = await store.createSeller(seller, event)
    return outcome === 'created' ? created(toWire(seller)) : refuse(outcome)
  })

  serve(listSellers, ({ caller, query, url }) =>
    answerPage(query, url, (page) => store.listSellers(caller, page), toWire),
  )

  /** The caller's seller for the domain in the path, and its verification. */
  async function verificationOf(caller: Caller, domainOfPath: string) {
    const domain = normalizeHostName(domainOfPath.trim())
    const seller = await store.findSeller({
      accountId: caller.accountId,
      environment: caller.environment,
      domain,
    })
    if (!seller) return undefined
    const challenge = challengeFor(key, seller, domain)
    const verification: SellerVerification = {
      domain,
      seller_id: seller.id,
      status: seller.isPending ? 'pending' : 'verified',
      record_name: challenge.recordName,
      file_url: challenge.fileUrl,
      text: challenge.text,
      missing: null,
    }
    return { seller, challenge, verification }
  }

  serve(getSellerVerification, async ({ caller, params }) => {
    const found = await verificationOf(caller, params.domain)
    return found ? ok(found.verification) : refuse('not_found')
  })

  serve(verifySeller, async ({ caller, params }) => {
    const found = await verificationOf(caller, params.domain)
    if (!found) return refuse('not_found')
    const { seller, challenge, verification } = found
    if (!seller.isPending) return ok(verification)
    // Real time: the test clock must not refill the bucket.
    const nowMs = performance.now()
    if (!looks.take(caller.accountId, nowMs)) {
      const retryAfter = { 'retry-after': String(looks.retryAfterSeconds(caller.accountId, nowMs)) }
      return { ...refuse('rate_limited'), headers: retryAfter }
    }
    const proof = await proveDomain(seller.domain, challenge)
    if (proof !== 'proved') return ok({ ...verification, missing: proof.missing })
    const data = { domain: seller.domain }
    const event = eventBy({ ids, now }, caller, 'seller.verified', seller.id, { data })
    const outcome = await store.claimDomain(seller, event)
    return outcome === 'claimed' ? ok({ ...verification, status: 'verified' }) : refuse(outcome)
  })

  serve(releaseDomain, async ({ caller, params }) => {
    const domain = normalizeHostName(params.domain.trim())
    // PostgreSQL stores no such text.
    if (domain.includes('\0')) return refuse('not_found')
    const { environment } = caller
    // The store adds the seller and its account when it releases the domain.
    const event = (atMs: number) => eventBy({ ids, now }, caller, 'seller.released', '', { atMs })
    const events = { own: event(timeIn(caller, now)), theirs: event(now()) }
    const seller = await store.releaseDomain({ environment, domain }, events)
    if (!seller) return refuse('not_found')
    return ok({ domain, seller_id: seller.id, account_id: seller.accountId })
  })
}

/** The 422 for a public suffix, which no seller can own. */
function ofNobody(domain: string): Answer {
  return unprocessable([
    {
      type: 'value_error',
      loc: ['body', 'domain'],
      msg: 'Value error, this is a public suffix, below which others have their domains; register your own domain below it',
      input: domain,
      ctx: { error: 'a public suffix' },
    },
  ])
}

/** As the interface writes it. */
export function toWire(seller: ListedSeller): WireSeller {
  return {
    id: seller.id,
    name: seller.name,
    domain: seller.domain,
    price_config: parseExactly(seller.priceConfig) as WireSeller['price_config'],
    created_at: toTimestamp(seller.createdAtMs),
    ...(seller.isPending ? { status: 'pending' as const } : {}),
  }
}

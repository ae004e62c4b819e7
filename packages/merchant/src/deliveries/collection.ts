import type { Proof } from '@purser/client'

import {
  howToPayAfter,
  howToPayAgain,
  howToPayForOtherPrice,
  type Offer,
  type RefusalReason,
} from '../challenge.ts'
import { canCapture, type PaymentClient } from '../client.ts'
import { createDeliveries, type Claim } from './deliveries.ts'
import type { DeliveryStore } from './delivery-store.ts'
import { holdOf, type Hold } from './hold.ts'
import { hasChargedNothing, refusalOf, retryAfterMsOf } from './service-errors.ts'
import { createTurns } from './turns.ts'

/** The outcome for a proof. */
export type Collection =
  | { readonly outcome: 'refused'; readonly reason: RefusalReason; readonly howToPay?: string }
  | { readonly outcome: 'unknown'; readonly retryAfterMs: number | undefined }
  /** Another request is delivering the goods for the same proof. */
  | { readonly outcome: 'in progress' }
  | ({ readonly outcome: 'charged'; readonly transactionId: string } & Pick<
      Claim,
      'delivered' | 'notDelivered' | 'notStarted'
    >)
  /** The amount is reserved, and nothing is charged yet. */
  | { readonly outcome: 'authorized'; readonly hold: Hold }

/**
 * A proof, the resource it is for, whether it is charged only after the handler, and whether the result of the delivery
 * will be reported.
 */
interface Shown {
  readonly proof: Proof
  readonly offer: Offer
  readonly preflight: boolean
  readonly capturesLater: boolean
  readonly reportsDelivery: boolean
}

interface CollectorOptions {
  readonly client: PaymentClient
  readonly merchantDomain: string
  readonly timeout: number
  readonly captureSeconds: number | undefined
  readonly leaseTimeout: number
  readonly deliveries: DeliveryStore | undefined
  readonly onError: (error: unknown) => void
}

/**
 * Denials of the pre-flight check that were decided when the proof was issued. The check knows no approval, and counts
 * the proof again: its payment may be the last one that a limit allows.
 */
const decidedWithProof: readonly string[] = [
  'approval_required',
  'velocity_limit_exceeded',
  'shared_budget_exceeded',
]

/** The currency of every offer. */
const currency = 'USDC' as const

/**
 * Returns a function that charges for deliveries. Each delivery has a random, secret key, the idempotency key of its
 * verification, so the service's answer says whether this delivery was paid. The key is stored before the service is
 * called, so the next request with the same proof can continue the delivery after any failure. Only one request at a
 * time owns a delivery.
 */
export function createCollector(options: CollectorOptions) {
  const {
    client,
    merchantDomain,
    timeout,
    captureSeconds,
    leaseTimeout,
    deliveries: store,
    onError,
  } = options

  const inTurn = createTurns()
  const claimDelivery = createDeliveries({ ...(store && { store }), leaseMs: leaseTimeout, onError })

  return async (shown: Shown): Promise<Collection> => {
    const { nonce, signature } = shown.proof
    const signal = AbortSignal.timeout(timeout)
    try {
      const id = await sha256(`${nonce}.${signature}`)
      const claim = await inTurn(id, signal, () => claimDelivery(id, signal))
      if (claim === 'in progress') return { outcome: 'in progress' }
      if (typeof claim === 'string') return refusalOfEnded(claim, shown)
      return await collect(shown, claim, signal)
    } catch (error) {
      onError(error)
      return { outcome: 'unknown', retryAfterMs: undefined }
    }
  }

  async function collect(shown: Shown, claim: Claim, signal: AbortSignal): Promise<Collection> {
    const { proof, offer, preflight, capturesLater, reportsDelivery } = shown
    let mayBePaid = claim.isResumed
    try {
      // A delivery that may already be paid needs no pre-flight check.
      if (preflight && !claim.isResumed) {
        const { authorized, reason_code } = await client.verifyAgent(proposal(proof, offer), { signal })
        if (!authorized && !decidedWithProof.includes(reason_code)) {
          await claim.forget()
          return { outcome: 'refused', reason: reason_code }
        }
      }
      const request = {
        proof,
        merchant_domain: merchantDomain,
        expected_amount: offer.amount,
        expected_currency: currency,
      }
      const callOptions = { idempotencyKey: claim.key, signal, timeout: Math.ceil(timeout / 3) }
      mayBePaid = true
      if (capturesLater) {
        if (!canCapture(client)) throw new TypeError('client has no methods authorize, capture and void')
        const seconds = captureSeconds === undefined ? {} : { capture_seconds: captureSeconds }
        const decision = await client.payments.authorize({ ...request, ...seconds }, callOptions)
        if (!decision.authorized) return await refuse(claim, decision.reason, howToPayLater(decision.reason))
        const { authorization } = decision
        if (authorization.status === 'voided' || authorization.status === 'expired') {
          await claim.voided()
          const reason = `authorization_${authorization.status}` as const
          return { outcome: 'refused', reason, howToPay: howToPayAfter[reason] }
        }
        const hold = holdOf({ client, authorization, claim, timeout, reportsDelivery, onError })
        return { outcome: 'authorized', hold }
      }
      const verdict = await client.payments.verify(request, callOptions)
      if (!verdict.verified) return await refuse(claim, verdict.reason)
      if (!reportsDelivery) await claim.forget()
      const { delivered, notDelivered, notStarted } = claim
      const transactionId = verdict.transaction_id
      return { outcome: 'charged', transactionId, delivered, notDelivered, notStarted }
    } catch (error) {
      const refusal = refusalOf(error)
      // Anyone can send many refused requests, so nothing is stored for them. After a pre-flight check without an answer,
      // the next request must check again.
      if (!mayBePaid || (hasChargedNothing(error) && !claim.isResumed)) await claim.forget()
      else await claim.inDoubt()
      if (refusal?.isForMerchant !== false) onError(error)
      return refusal
        ? { outcome: 'refused', reason: refusal.reason }
        : { outcome: 'unknown', retryAfterMs: retryAfterMsOf(error) }
    }
  }
}

/** Ends a claim whose proof was refused. */
async function refuse(claim: Claim, reason: RefusalReason, howToPay?: string): Promise<Collection> {
  // An earlier request may have been charged, whatever is wrong with this one.
  if (claim.isResumed && reason !== 'nonce_reused') await claim.inDoubt()
  else await claim.forget()
  if (claim.isResumed && reason === 'amount_mismatch') {
    return { outcome: 'refused', reason, howToPay: howToPayForOtherPrice }
  }
  return { outcome: 'refused', reason, ...(howToPay === undefined ? {} : { howToPay }) }
}

/** The answer to a proof that buys nothing any more. */
function refusalOfEnded(
  state: 'delivered' | 'failed' | 'voided',
  { capturesLater }: Pick<Shown, 'capturesLater'>,
): Collection {
  if (state === 'voided') {
    const reason = 'authorization_voided'
    return { outcome: 'refused', reason, howToPay: howToPayAfter[reason] }
  }
  const howToPay = state === 'failed' && capturesLater ? howToPayAfter.failed : howToPayAgain[state]
  return { outcome: 'refused', reason: 'nonce_reused', howToPay }
}

function howToPayLater(reason: RefusalReason): string | undefined {
  return reason === 'nonce_reused' ? howToPayAfter.nonce_reused : undefined
}

/** The id under which a proof's delivery is stored. It reveals nothing about the proof. */
async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** The requested amount in the merchant's currency; verification compares it with the proof's. */
function proposal({ agentId, mandateId }: Proof, offer: Offer) {
  return {
    agent_id: agentId,
    mandate_id: mandateId,
    merchant_domain: offer.merchant_domain,
    amount: offer.amount,
    currency,
    resource_url: offer.resource,
    ...(offer.category === undefined ? {} : { category: offer.category }),
  }
}

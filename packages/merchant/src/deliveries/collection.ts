import type { Proof } from '@purser/client'

import { howToPayAgain, type Offer, type RefusalReason } from '../challenge.ts'
import type { PaymentClient } from '../client.ts'
import { createDeliveries, type Claim } from './deliveries.ts'
import type { DeliveryStore } from './delivery-store.ts'
import { hasChargedNothing, refusalOf, retryAfterMsOf } from './service-errors.ts'
import { createTurns } from './turns.ts'

/** What has become of a proof that was shown. */
export type Collection =
  | { readonly outcome: 'refused'; readonly reason: RefusalReason; readonly howToPay?: string }
  | { readonly outcome: 'unknown'; readonly retryAfterMs: number | undefined }
  /** Another request is delivering for the same proof. */
  | { readonly outcome: 'in progress' }
  | ({ readonly outcome: 'charged'; readonly transactionId: string } & Pick<
      Claim,
      'delivered' | 'notDelivered'
    >)

/** A proof that was shown, for what, and whether somebody will say how the delivery ended. */
interface Shown {
  readonly proof: Proof
  readonly offer: Offer
  readonly preflight: boolean
  readonly reportsDelivery: boolean
}

interface CollectorOptions {
  readonly client: PaymentClient
  readonly merchantDomain: string
  readonly timeout: number
  readonly leaseTimeout: number
  readonly deliveries: DeliveryStore | undefined
  readonly onError: (error: unknown) => void
}

/** What every offer is in. */
const currency = 'USDC' as const

/**
 * Makes what charges for a delivery of goods. Each delivery has a key of its own, random and never shown: it is
 * the idempotency key of the verification, so the service's answer says whether *this* delivery was paid. The key is
 * kept before the service is asked, so that whatever happens afterwards, the next request that shows the same proof goes
 * on with it; and one request at a time has it.
 */
export function createCollector(options: CollectorOptions) {
  const { client, merchantDomain, timeout, leaseTimeout, deliveries: store, onError } = options

  const inTurn = createTurns()
  const claimDelivery = createDeliveries({ ...(store && { store }), leaseMs: leaseTimeout, onError })

  return async (shown: Shown): Promise<Collection> => {
    const { nonce, signature } = shown.proof
    const signal = AbortSignal.timeout(timeout)
    try {
      const id = await sha256(`${nonce}.${signature}`)
      const claim = await inTurn(id, signal, () => claimDelivery(id, signal))
      if (claim === 'in progress') return { outcome: 'in progress' }
      if (claim === 'delivered' || claim === 'failed') {
        return { outcome: 'refused', reason: 'nonce_reused', howToPay: howToPayAgain[claim] }
      }
      return await collect(shown, claim, signal)
    } catch (error) {
      onError(error)
      return { outcome: 'unknown', retryAfterMs: undefined }
    }
  }

  async function collect(shown: Shown, claim: Claim, signal: AbortSignal): Promise<Collection> {
    const { proof, offer, preflight } = shown
    try {
      // What may have been paid before an interruption needs no permission any more.
      if (preflight && !claim.isResumed) {
        const { authorized, reason_code } = await client.verifyAgent(proposal(proof, offer), { signal })
        if (!authorized) {
          await claim.forget()
          return { outcome: 'refused', reason: reason_code }
        }
      }
      const verdict = await client.payments.verify(
        {
          proof,
          merchant_domain: merchantDomain,
          expected_amount: offer.amount,
          expected_currency: currency,
        },
        { idempotencyKey: claim.key, signal, timeout: Math.ceil(timeout / 3) },
      )
      if (verdict.verified) {
        if (!shown.reportsDelivery) await claim.forget()
        const { delivered, notDelivered } = claim
        return { outcome: 'charged', transactionId: verdict.transaction_id, delivered, notDelivered }
      }
      // The charge of a resumed delivery may stand, whatever else is wrong with this request.
      if (claim.isResumed && verdict.reason !== 'nonce_reused') await claim.inDoubt()
      else await claim.forget()
      return { outcome: 'refused', reason: verdict.reason }
    } catch (error) {
      const refusal = refusalOf(error)
      // A stranger can have many requests turned away, and nothing of them is worth keeping.
      if (hasChargedNothing(error) && !claim.isResumed) await claim.forget()
      else await claim.inDoubt()
      if (refusal?.isForMerchant !== false) onError(error)
      return refusal
        ? { outcome: 'refused', reason: refusal.reason }
        : { outcome: 'unknown', retryAfterMs: retryAfterMsOf(error) }
    }
  }
}

/** The name under which a proof's delivery is kept; nobody can make a proof of it. */
async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** What is asked for, in its currency and not in the one that the proof names: that is for verification to judge. */
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

import type { Proof } from '@purser/client'

import type { Offer, RefusalReason } from './challenge.ts'
import type { Delivery, UnfinishedDeliveries } from './deliveries.ts'
import type { PaymentClient } from './client.ts'

import { hasChargedNothing, refusalOf, retryAfterMsOf } from './service-errors.ts'
import { createTurns } from './turns.ts'

/** What has become of a proof that was shown. */
export type Collection =
  | { readonly outcome: 'refused'; readonly reason: RefusalReason }
  | { readonly outcome: 'unknown'; readonly retryAfterMs: number | undefined }
  | {
      readonly outcome: 'charged'
      readonly transactionId: string
      /** Says that nothing of the goods went out: the same proof may be shown again. */
      readonly notDelivered: () => Promise<void>
    }

interface Shown {
  readonly proof: Proof
  readonly proofId: string
  readonly offer: Offer
  readonly preflight: boolean
  readonly signal: AbortSignal
}

interface CollectorOptions {
  readonly client: PaymentClient
  readonly merchantDomain: string
  readonly timeout: number
  readonly unfinished: UnfinishedDeliveries
  readonly onError: (error: unknown) => void
}

/** The most runs of a handler that one payment gets, so that a customer who hangs up cannot have work done for ever. */
const maxRuns = 3

/** What every offer is in. */
const currency = 'USDC' as const

/**
 * Makes what charges for a delivery of goods. Each delivery has a key of its own, random and never shown: it is
 * the idempotency key of the verification, so the service's answer says whether *this* delivery was paid. A
 * retry with the same key gets the first answer; another request that shows the proof has another key and gets
 * `nonce_reused`. When nobody knows whether the charge stands, the key is remembered, and the next request that
 * shows the same proof goes on with it.
 */
export function createCollector(options: CollectorOptions) {
  const { client, merchantDomain, timeout, unfinished, onError } = options

  const inTurn = createTurns()

  return async (proof: Proof, offer: Offer, preflight: boolean): Promise<Collection> => {
    const proofId = `${proof.nonce}.${proof.signature}`
    const signal = AbortSignal.timeout(timeout)
    try {
      return await inTurn(proofId, signal, () => collect({ proof, proofId, offer, preflight, signal }))
    } catch (error) {
      onError(error)
      return { outcome: 'unknown', retryAfterMs: undefined }
    }
  }

  async function collect({ proof, proofId, offer, preflight, signal }: Shown): Promise<Collection> {
    let resumed: Delivery | undefined
    let delivery: Delivery | undefined
    try {
      resumed = await unfinished.take(proofId)
      // What may have been paid before an interruption needs no permission any more.
      if (preflight && !resumed) {
        const { authorized, reason_code } = await client.verifyAgent(proposal(proof, offer), { signal })
        if (!authorized) return { outcome: 'refused', reason: reason_code }
      }
      delivery = resumed ?? { key: crypto.randomUUID(), runs: 0 }
      const verdict = await client.payments.verify(
        {
          proof,
          merchant_domain: merchantDomain,
          expected_amount: offer.amount,
          expected_currency: currency,
        },
        { idempotencyKey: delivery.key, signal, timeout: Math.ceil(timeout / 3) },
      )
      if (verdict.verified) return charged(verdict.transaction_id, proofId, delivery)
      // The charge of a resumed delivery may stand, whatever else is wrong with this request.
      if (resumed && verdict.reason !== 'nonce_reused') await keep(proofId, resumed)
      return { outcome: 'refused', reason: verdict.reason }
    } catch (error) {
      const refusal = refusalOf(error)
      // A stranger can have many requests turned away, and nothing of them is worth keeping.
      const toKeep = hasChargedNothing(error) ? resumed : delivery
      if (toKeep) await keep(proofId, toKeep)
      if (refusal?.isForMerchant !== false) onError(error)
      return refusal
        ? { outcome: 'refused', reason: refusal.reason }
        : { outcome: 'unknown', retryAfterMs: retryAfterMsOf(error) }
    }
  }

  function charged(transactionId: string, proofId: string, { key, runs }: Delivery): Collection {
    let isOver = false
    return {
      outcome: 'charged',
      transactionId,
      notDelivered: async () => {
        if (isOver || runs + 1 >= maxRuns) return
        isOver = true
        await keep(proofId, { key, runs: runs + 1 })
      },
    }
  }

  async function keep(proofId: string, delivery: Delivery): Promise<void> {
    try {
      await unfinished.keep(proofId, delivery)
    } catch (error) {
      onError(error)
    }
  }
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

import type { AuthorizationDecision } from '@purser/client'

import { howToPayAfter, howToPayForOtherPrice, type RefusalReason } from '../challenge.ts'
import type { CapturingClient } from '../client.ts'
import { microOf } from '../micro-amounts.ts'
import type { Claim } from './deliveries.ts'
import { captureConflictOf, retryAfterMsOf } from './service-errors.ts'

/** An authorized payment, for one run of the handler: its amount is reserved until the deadline. */
export interface Hold {
  readonly captureDeadline: string
  /** Seconds from the authorization's answer to the deadline, by the service's clock; infinite once it is captured. */
  readonly captureSecondsLeft: number
  /** Charges an amount, or all of it. Never rejects. */
  readonly capture: (amount?: string) => Promise<Capture>
  /** Releases the amount. Resolves to whether it is certain that nothing is charged; never rejects. */
  readonly void: () => Promise<boolean>
  /** The goods were delivered. */
  readonly delivered: () => Promise<void>
  /** The goods were not delivered completely: the same proof can be used again. */
  readonly notDelivered: () => Promise<void>
  /** The handler did not run: the same proof can be used again. */
  readonly notStarted: () => Promise<void>
}

export type Capture =
  | { readonly outcome: 'captured'; readonly transactionId: string; readonly amount: string }
  /** This proof will never be charged for these goods, or an earlier run has captured less than they cost. */
  | { readonly outcome: 'refused'; readonly reason: RefusalReason; readonly howToPay: string }
  | { readonly outcome: 'unknown'; readonly retryAfterMs: number | undefined }
  /** Another request has taken over the delivery. */
  | { readonly outcome: 'in progress' }

interface HoldFacts {
  readonly client: CapturingClient
  readonly authorization: Extract<AuthorizationDecision, { readonly authorized: true }>['authorization']
  readonly claim: Claim
  /** For all calls of one operation. */
  readonly timeout: number
  /** Otherwise captured goods count as delivered. */
  readonly reportsDelivery: boolean
  readonly onError: (error: unknown) => void
}

/**
 * The authorized payment of a claim. A request that has lost its claim neither captures nor voids. All captures of a
 * claim have its key and its amount, so a repeated one charges nothing.
 */
export function holdOf(facts: HoldFacts): Hold {
  const { client, authorization, claim, timeout, reportsDelivery, onError } = facts
  const { nonce, amount: price, capture_deadline: captureDeadline } = authorization
  const { payments } = client
  // An earlier run may have been charged and its goods cut off.
  let isCaptured = authorization.status === 'captured'

  async function notDelivered(): Promise<void> {
    // There will be no further run, so the amount need not stay reserved.
    if (claim.isLastRun && !isCaptured) await release()
    await claim.notDelivered()
  }

  async function release(): Promise<boolean> {
    try {
      if (isCaptured || !(await claim.confirm()).isOwn) return false
      const { status } = await payments.void(nonce, callOptions(timeout))
      if (status !== 'voided' && status !== 'expired') return false
      await claim.voided()
      return true
    } catch (error) {
      if (captureConflictOf(error) !== 'already_captured') onError(error)
      return false
    }
  }

  async function capture(cost = price): Promise<Capture> {
    try {
      // An earlier run may have captured another amount.
      const { isOwn, amount = cost } = await claim.confirm(cost)
      if (!isOwn) return { outcome: 'in progress' }
      if (microOf(amount) < microOf(cost)) {
        await notDelivered()
        return { outcome: 'refused', reason: 'amount_mismatch', howToPay: howToPayForOtherPrice }
      }
      const idempotencyKey = claim.key
      const charge = await payments.capture(nonce, { amount }, { ...callOptions(timeout), idempotencyKey })
      isCaptured = true
      if (!reportsDelivery) await claim.forget()
      return { outcome: 'captured', transactionId: charge.transaction_id, amount: charge.amount }
    } catch (error) {
      onError(error)
      const conflict = captureConflictOf(error)
      if (conflict === 'already_captured') {
        // Another holder of this merchant's key did it: whether for these goods is unknown.
        isCaptured = true
        await claim.delivered()
        return { outcome: 'refused', reason: 'nonce_reused', howToPay: howToPayAfter.nonce_reused }
      }
      if (conflict) {
        await claim.voided()
        return { outcome: 'refused', reason: conflict, howToPay: howToPayAfter[conflict] }
      }
      await notDelivered()
      return { outcome: 'unknown', retryAfterMs: retryAfterMsOf(error) }
    }
  }

  return {
    captureDeadline,
    captureSecondsLeft: isCaptured ? Infinity : authorization.capture_seconds_left,
    capture,
    void: async () => {
      const isVoided = await release()
      if (!isVoided) await claim.notDelivered()
      return isVoided
    },
    delivered: claim.delivered,
    notDelivered,
    notStarted: claim.notStarted,
  }
}

function callOptions(timeout: number) {
  return { signal: AbortSignal.timeout(timeout), timeout: Math.ceil(timeout / 3) }
}

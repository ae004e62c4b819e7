import type { ApprovalReference, DenialCode } from '../wire-types.ts'
import type { PaymentChallenge } from './challenge.ts'

/** Why a 402 was returned without requesting a payment, and what would help. */
export const skipReasons = {
  already_paying: 'the request already had a proof',
  no_challenge: 'the 402 has no valid svc-sandbox challenge in USDC',
  head_request: 'a response to HEAD has no body to pay for; use GET',
  redirected: 'the 402 came after a redirect; request the final URL',
  other_resource: 'the challenge is for another URL than the requested one',
  other_merchant: 'the merchant domain is not the host of the URL or a parent of it',
  over_max_amount: 'the price is above maxAmount',
  refused_by_caller: 'onPaymentRequired refused it',
  body_cannot_be_repeated:
    'the request body is a stream, or a Request with more than 10 MiB, which cannot be sent twice; pass text, bytes, a Blob or a form',
} as const
export type SkipReason = keyof typeof skipReasons

/** The decision about a 402. */
export type PaymentDecision =
  | {
      readonly outcome: 'approved'
      readonly challenge: PaymentChallenge
      /** The nonce of the proof, for `payments.getProof`. */
      readonly nonce: string
      /** The `approved` transaction that records the decision; null when resuming an earlier purchase. */
      readonly transaction_id: string | null
    }
  | {
      readonly outcome: 'denied'
      readonly challenge: PaymentChallenge
      readonly reason_code: DenialCode
      /** The requested amount, the limit, and what would help. */
      readonly reason_detail: string
      /** The `denied` transaction that records the decision; null if only the proof was refused. */
      readonly transaction_id: string | null
      /** For `approval_required`: the approval that a person has not given, and where to decide. */
      readonly approval?: ApprovalReference | undefined
    }
  | {
      readonly outcome: 'skipped'
      readonly why: SkipReason
      /** What is wrong, including both URLs for `other_resource`, and both amounts for `over_max_amount`. */
      readonly detail: string
      readonly challenge: PaymentChallenge | undefined
      /** For `over_max_amount`: the limit, which `challenge.amount` exceeds. */
      readonly max_amount?: string
    }

const decisions = new WeakMap<Response, PaymentDecision>()

/**
 * The payment decision for a response of a wrapped fetch; undefined if no payment was requested.
 *
 * @example
 * const answer = await fetchPaid('https://api.example.com/data')
 * if (answer.status === 402) console.log(paymentDecisionOf(answer)?.outcome)
 */
export function paymentDecisionOf(response: Response): PaymentDecision | undefined {
  return decisions.get(response)
}

/** Attaches the decision to the response. */
export function withDecision(response: Response, decision: PaymentDecision): Response {
  decisions.set(response, decision)
  return response
}

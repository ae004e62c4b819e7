import type { DenialCode } from '../wire-types.ts'
import type { PaymentChallenge } from './challenge.ts'

/** Why a 402 was handed back without asking for a payment, and what would help. */
export const skipReasons = {
  already_paying: 'the request carried a proof of its own',
  no_challenge: 'the 402 has no challenge that this client understands',
  head_request: 'the answer to HEAD has no body, so it would be paid for nothing; ask with GET',
  redirected: 'the 402 came by a redirect; ask the address itself that it came from',
  other_resource: 'the challenge names another address than the one that was asked for',
  other_merchant: 'the domain of the merchant is neither the host of the address nor a parent of it',
  over_max_amount: 'it costs more than maxAmount',
  refused_by_caller: 'onPaymentRequired refused it',
  body_cannot_be_repeated:
    'the body of the request cannot be sent twice: it is a stream, or a Request with more than 10 MiB; pass text, bytes, a Blob or a form in `init.body`',
} as const
export type SkipReason = keyof typeof skipReasons

/** What became of a 402. */
export type PaymentDecision =
  | {
      readonly outcome: 'approved'
      readonly challenge: PaymentChallenge
      /** The nonce of the proof: what `payments.getProof` finds the payment by. */
      readonly nonce: string
      /** The `approved` transaction that records the decision; null when a purchase that was begun before goes on. */
      readonly transaction_id: string | null
    }
  | {
      readonly outcome: 'denied'
      readonly challenge: PaymentChallenge
      readonly reason_code: DenialCode
      /** What was asked for, the limit, and what would help. */
      readonly reason_detail: string
      /** The `denied` transaction that records the decision; null when it was approved and the proof was refused. */
      readonly transaction_id: string | null
    }
  | {
      readonly outcome: 'skipped'
      readonly why: SkipReason
      /** What is wrong; with both addresses for `other_resource`, and both amounts for `over_max_amount`. */
      readonly detail: string
      readonly challenge: PaymentChallenge | undefined
      /** For `over_max_amount`: the limit that the price in `challenge.amount` is above. */
      readonly max_amount?: string
    }

const decisions = new WeakMap<Response, PaymentDecision>()

/** What was decided about the payment of an answer that a wrapped fetch gave; undefined when nothing was asked. */
export function paymentDecisionOf(response: Response): PaymentDecision | undefined {
  return decisions.get(response)
}

/** The same response, with what was decided about it kept beside it. */
export function withDecision(response: Response, decision: PaymentDecision): Response {
  decisions.set(response, decision)
  return response
}

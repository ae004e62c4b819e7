import type { ProofRecord } from '../wire-types.ts'
import type { PaymentReceipt } from './receipt.ts'
import type { ProofFate } from './uncertain-payment.ts'

/** The result of a payment made by a wrapped fetch. */
export interface PaymentResult {
  /** The nonce of the proof. */
  readonly nonce: string
  /** The amount of the proof: the most that can be charged. */
  readonly amount: string
  /**
   * What was charged, such as `1.25`, or `0.00` if nothing was and nothing will be. Null if it is not known: up to
   * `amount` may have been charged, or may still be. A receipt is believed only if it claims all of `amount`.
   */
  readonly charged_amount: string | null
  readonly currency: string
  /** The URL that was paid for. */
  readonly resource: string
  /** Whether the response has the goods; false for a refusal of a proof that can never be charged. */
  readonly delivered: boolean
  /**
   * `captured` if it was charged; `voided` or `expired` if nothing was, even if the goods were delivered; `open` or
   * `authorized` if it may still be charged; `unknown` if the service did not answer.
   */
  readonly status: ProofFate
  /** The transaction of the charge; null if nothing was charged, or if it is unknown. */
  readonly transaction_id: string | null
  /** True if an earlier call with the same purchase id paid for the goods, and they come from the store. */
  readonly replayed: boolean
  /** The merchant's receipt, if it is for this proof: a claim, whose amount may differ from `charged_amount`. */
  readonly receipt: PaymentReceipt | undefined
}

const results = new WeakMap<Response, PaymentResult>()

/**
 * The payment result of a response of a wrapped fetch; undefined if no proof was sent for it.
 *
 * @example
 * const answer = await fetchPaid('https://api.example.com/data')
 * console.log(paymentResultOf(answer)?.transaction_id)
 */
export function paymentResultOf(response: Response): PaymentResult | undefined {
  return results.get(response)
}

/**
 * What the service says was charged for a proof, in USDC: `0.00` if nothing was and nothing will be, null while it is not
 * known (interface 0.1.0, Payments).
 *
 * @example
 * chargedAmountOf(await client.payments.getProof(proof.nonce)) // '1.25'
 */
export function chargedAmountOf(
  proof: Pick<ProofRecord, 'status' | 'captured_amount'> | undefined,
): string | null {
  if (proof?.status === 'voided' || proof?.status === 'expired') return '0.00'
  return proof?.captured_amount ?? null
}

/** Attaches the result to the response. */
export function withResult(response: Response, result: PaymentResult): Response {
  results.set(response, result)
  return response
}

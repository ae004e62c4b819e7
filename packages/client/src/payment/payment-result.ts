import type { PaymentReceipt } from './receipt.ts'
import type { ProofFate } from './uncertain-payment.ts'

/** What became of a payment whose answer a wrapped fetch gave. */
export interface PaymentResult {
  /** The nonce of the proof that was shown. */
  readonly nonce: string
  readonly amount: string
  readonly currency: string
  /** The address that was paid for. */
  readonly resource: string
  /** `captured` when it was charged; `unknown` when neither the merchant nor the service said so. */
  readonly status: ProofFate
  /** The transaction of the charge; null when nothing was charged, or nobody said which one it is. */
  readonly transaction_id: string | null
  /** True when the goods were paid for by an earlier call with the same purchase id, and come from the store. */
  readonly replayed: boolean
  /** What the merchant says was paid, when it says so of this proof. */
  readonly receipt: PaymentReceipt | undefined
}

const results = new WeakMap<Response, PaymentResult>()

/**
 * What became of the payment behind an answer of a wrapped fetch; undefined when no proof was shown for it.
 *
 * @example
 * const answer = await fetchPaid('https://api.example.com/data')
 * console.log(paymentResultOf(answer)?.transaction_id)
 */
export function paymentResultOf(response: Response): PaymentResult | undefined {
  return results.get(response)
}

/** The same response, with its result kept beside it. */
export function withResult(response: Response, result: PaymentResult): Response {
  results.set(response, result)
  return response
}

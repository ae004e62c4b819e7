import type { Receipt } from './challenge.ts'

/** The payment of a request, for its handler. */
export interface Payment extends Omit<Receipt, 'transaction_id'> {
  /** The transaction of the charge; undefined until the payment is captured. */
  readonly transaction_id: string | undefined
  readonly category?: string
  /** The paying agent and its mandate. */
  readonly agent_id: string
  readonly mandate_id: string
  /** When the authorization ends, if the payment is charged after the handler. */
  readonly capture_deadline?: string
  /**
   * Sets the amount to charge so far, such as `'0.42'`; call it as often as you like before the payment is captured.
   * At most the price is charged; `'0'` charges nothing. Returns false if the payment was captured or voided before.
   * Needs `capture: 'after'` or `'metered'`, and throws without.
   */
  readonly meter: (amount: string) => boolean
}

type Facts = Omit<Payment, 'meter'>

/** The payment that a handler sees. `meter` is not enumerable, so a payment can be printed, copied and compared. */
export function paymentFor<Seen extends Facts>(facts: Seen, meter: Payment['meter'] = alreadyCharged) {
  return Object.defineProperty(facts, 'meter', { value: meter }) as Seen & Pick<Payment, 'meter'>
}

function alreadyCharged(): never {
  throw new Error('meter needs the option capture: "after" or "metered"; this payment is charged already')
}

const payments = new WeakMap<object, Payment>()

/**
 * The payment of a request in its handler: pass the request, or Hono's context. Undefined if it was free.
 *
 * @example
 * createServer(
 *   requirePayment({ client, merchantDomain, price: '4.00' }, (request, response) => {
 *     response.end(`paid with ${paymentOf(request)?.transaction_id}`)
 *   }),
 * )
 */
export function paymentOf(request: object): Payment | undefined {
  return payments.get(request)
}

/** Stores a payment for `paymentOf`, as long as the request exists. */
export function keepPayment(request: unknown, payment: Payment): void {
  if (typeof request === 'object' && request !== null) payments.set(request, payment)
}

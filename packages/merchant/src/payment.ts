import type { Receipt } from './challenge.ts'

/** The payment of a request, for its handler. */
export interface Payment extends Receipt {
  readonly category?: string
  /** The paying agent and its mandate. */
  readonly agent_id: string
  readonly mandate_id: string
}

const payments = new WeakMap<object, Payment>()

/**
 * The payment of a request in its handler: pass the request, or Hono's context. Undefined if it was free.
 *
 * @example
 * app.get('/data', requirePayment({ … }), (request, response) => {
 *   const payment = paymentOf(request)
 *   response.json({ order: payment?.transaction_id })
 * })
 */
export function paymentOf(request: object): Payment | undefined {
  return payments.get(request)
}

/** Stores a payment for `paymentOf`, as long as the request exists. */
export function keepPayment(request: unknown, payment: Payment): void {
  if (typeof request === 'object' && request !== null) payments.set(request, payment)
}

import type { Receipt } from './challenge.ts'

/** What a request was paid with, for its handler. */
export interface Payment extends Receipt {
  readonly category?: string
  /** Who paid, and by which mandate. */
  readonly agent_id: string
  readonly mandate_id: string
}

const payments = new WeakMap<object, Payment>()

/**
 * The payment of a request that a handler was given: pass the request, or the context of Hono. Undefined when it was
 * free.
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

/** Keeps a payment for `paymentOf`, as long as the request exists. */
export function keepPayment(request: unknown, payment: Payment): void {
  if (typeof request === 'object' && request !== null) payments.set(request, payment)
}

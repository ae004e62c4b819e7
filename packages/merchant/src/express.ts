import type { IncomingMessage, ServerResponse } from 'node:http'

import { createPaymentGate, type PaymentOptions } from './gate.ts'
import { letPass, readHeaders, settleUpgrade, turnOf } from './node-delivery.ts'

export type * from './gate.ts'
export { paymentOf } from './payment.ts'

/** The used part of Express's `Request`. */
type ExpressRequest = IncomingMessage & { readonly originalUrl: string; readonly baseUrl: string }

/**
 * Middleware for Express 5 that passes only paid requests to the handler. An unpaid request gets a 402 with the
 * price, and a 503 while its payment cannot be verified. Throws a `TypeError` for options that can never work (Endpoints,
 * `POST /v1/payments/verify`).
 *
 * @example
 * app.get('/data', requirePayment({ client, merchantDomain, price: '4.00' }), handler)
 */
export function requirePayment<Request extends ExpressRequest>(options: PaymentOptions<Request>) {
  const decide = createPaymentGate(options)

  async function sell(request: Request, response: ServerResponse, next: () => void): Promise<void> {
    const { originalUrl, baseUrl, url = '' } = request
    // A mounted router strips its mount path from `url`; other middleware may rewrite it.
    const rewritten = [url, baseUrl + url]
    await turnOf(request, response)
    const decided = await decide({ ...readHeaders(request), target: originalUrl, rewritten, request })
    const decision = await settleUpgrade(request, decided)
    if (letPass(response, decision)) next()
  }

  return Object.assign(sell, { refund: decide.refund })
}

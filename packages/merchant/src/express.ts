import type { IncomingMessage, ServerResponse } from 'node:http'

import { createPaymentGate, type PaymentOptions } from './gate.ts'
import { letPass } from './node-delivery.ts'

export type * from './gate.ts'

/** What is used of Express's request; your own `Request` is one. */
type ExpressRequest = IncomingMessage & { readonly originalUrl: string }

/** Middleware for Express 5 that lets paid requests through: `app.get('/data', requirePayment({ … }), handler)`. */
export function requirePayment<Request extends ExpressRequest>(options: PaymentOptions<Request>) {
  const decide = createPaymentGate(options)

  return async (request: Request, response: ServerResponse, next: () => void): Promise<void> => {
    // A router that is mounted below a path takes that path away from `url`, and not from `originalUrl`.
    const { method = 'GET', originalUrl, headers } = request
    const decision = await decide({ method, target: originalUrl, proof: headers['x-payment-proof'], request })
    if (letPass(response, decision)) next()
  }
}

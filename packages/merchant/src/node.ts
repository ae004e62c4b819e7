import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'

import { createPaymentGate, type PaymentOptions, type Refund } from './gate.ts'
import { letPass, readHeaders, settleUpgrade, turnOf } from './node-delivery.ts'
import { isClosed, resetHeaders } from './node-response.ts'
import { safely } from './options.ts'

export type * from './gate.ts'
export { paymentOf } from './payment.ts'

/**
 * A listener for `http.createServer` that runs the handler only for paid requests. An unpaid request gets a 402 with the
 * price, and a 503 while its payment cannot be verified. Throws a `TypeError` for options that can never work (Endpoints,
 * `POST /v1/payments/verify`).
 *
 * @example
 * createServer(requirePayment({ client, merchantDomain, price: '4.00' }, handler)).listen(3000)
 */
export function requirePayment(
  options: PaymentOptions<IncomingMessage>,
  handler: (request: IncomingMessage, response: ServerResponse) => unknown,
): RequestListener & { readonly refund: Refund } {
  const decide = createPaymentGate(options)
  const onError = safely(options.onError ?? console.error)

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // Frameworks that mount a listener below a path, such as Express and connect, store the full target in
    // `originalUrl`.
    const { url = '/', originalUrl = url }: IncomingMessage & { readonly originalUrl?: string } = request
    await turnOf(request, response)
    const decided = await decide({ ...readHeaders(request), target: originalUrl, rewritten: [url], request })
    const decision = await settleUpgrade(request, decided)
    if (!letPass(response, decision)) return
    const earlier = response.getHeaders()
    try {
      await handler(request, response)
    } catch (error) {
      // A response that has ended is charged and sent like any other.
      if (response.writableEnded) return onError(error)
      // A metered response that was closed midway is settled for what it has sent.
      const isSettled =
        decision.outcome === 'authorized' && decision.capture === 'metered' && isClosed(response)
      if (decision.outcome === 'authorized' && !isSettled) await decision.void()
      // They may describe what was not sent: its length, or for how long it may be cached.
      if (!response.headersSent) resetHeaders(response, earlier)
      throw error
    }
  }

  function sell(request: IncomingMessage, response: ServerResponse): void {
    answer(request, response).catch((error: unknown) => {
      onError(error)
      // A response that has started cannot be undone: abort it, so that the customer notices.
      if (response.headersSent) response.destroy()
      // Without a reason phrase of the handler, which may be the error.
      else response.writeHead(500, 'Internal Server Error').end()
    })
  }

  return Object.assign(sell, { refund: decide.refund })
}

import { deliver, readRequest, toResponse, withReceipt } from './fetch-delivery.ts'
import { deliverAuthorized } from './fetch-settlement.ts'
import { createPaymentGate, type PaymentOptions } from './gate.ts'
import { safely } from './options.ts'

export type * from './gate.ts'
export { paymentOf } from './payment.ts'

/**
 * A Fetch-style handler that runs only for paid requests: for Deno, Bun and Workers. An unpaid request gets a 402 with the
 * price, and a 503 while its payment cannot be verified. Throws a `TypeError` for options that can never work (Endpoints,
 * `POST /v1/payments/verify`).
 *
 * @example
 * Deno.serve(requirePayment({ client, merchantDomain, price: '4.00' }, handler))
 */
export function requirePayment<Rest extends unknown[]>(
  options: PaymentOptions<Request>,
  handler: (request: Request, ...rest: Rest) => Response | Promise<Response>,
) {
  const decide = createPaymentGate(options)
  const onError = safely(options.onError ?? console.error)

  // Below it there is only the server, whose answer to an error could not say that nothing was charged.
  function answerTo(error: unknown): Response {
    onError(error)
    return new Response('Internal Server Error', { status: 500 })
  }

  async function sell(request: Request, ...rest: Rest): Promise<Response> {
    const decision = await decide({ ...readRequest(request), request })
    if (decision.outcome === 'free') return handler(request, ...rest)
    if (decision.outcome === 'paid') {
      const answer = await deliver(decision, request, () => answerOf(request, rest))
      return withReceipt(answer, decision)
    }
    if (decision.outcome === 'authorized') {
      return deliverAuthorized(decision, request, () => answerOf(request, rest), { answerTo })
    }
    return toResponse(decision.answer)
  }

  /** A handler may also throw its response. */
  async function answerOf(request: Request, rest: Rest): Promise<Response> {
    try {
      return await handler(request, ...rest)
    } catch (thrown) {
      if (thrown instanceof Response) return thrown
      throw thrown
    }
  }

  return Object.assign(sell, { refund: decide.refund })
}

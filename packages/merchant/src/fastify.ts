import type { IncomingHttpHeaders, OutgoingHttpHeader, ServerResponse } from 'node:http'

import { createPaymentGate, type PaymentOptions } from './gate.ts'
import { beginDelivery, readHeaders, settleUpgrade, turnOf } from './node-delivery.ts'
import { holdResponse } from './node-settlement.ts'

export type * from './gate.ts'
export { paymentOf } from './payment.ts'

/** The used part of Fastify's `FastifyRequest` and `FastifyReply`. */
interface Request {
  readonly method: string
  readonly url: string
  readonly originalUrl: string
  readonly server: { readonly prefix: string }
  readonly headers: IncomingHttpHeaders
  readonly raw: object
}
interface Reply {
  readonly raw: ServerResponse
  code(status: number): unknown
  headers(headers: Record<string, string>): unknown
  getHeaders(): Record<string, OutgoingHttpHeader | undefined>
  removeHeader(name: string): unknown
  send(body: string): unknown
  hijack(): unknown
}

/**
 * A hook for Fastify 5 that passes only paid requests to the handler. An unpaid request gets a 402 with the
 * price, and a 503 while its payment cannot be verified. Throws a `TypeError` for options that can never work (Endpoints,
 * `POST /v1/payments/verify`).
 *
 * @example
 * app.get('/data', { preHandler: requirePayment({ client, merchantDomain, price: '4.00' }) }, handler)
 */
export function requirePayment<R extends Request>(options: PaymentOptions<R>) {
  const decide = createPaymentGate(options)

  // The type comes from the options or the route, never from this hook.
  async function sell(request: NoInfer<R>, reply: Reply): Promise<unknown> {
    const { url, originalUrl, server } = request
    // `url` may have been changed by `rewriteUrl`.
    const place = { target: originalUrl, rewritten: [url], mount: server.prefix }
    await turnOf(request, reply.raw)
    const decided = await decide({ ...readHeaders(request), ...place, request })
    const decision = await settleUpgrade(request.raw, decided)
    if (decision.outcome === 'free') return undefined
    if (decision.outcome === 'paid' || decision.outcome === 'authorized') {
      const earlier = reply.getHeaders()
      // The application's value is for free responses, and would replace that of the paid one.
      reply.removeHeader('cache-control')
      // The client has disconnected: tell Fastify that no response follows.
      const mayRun =
        decision.outcome === 'paid'
          ? beginDelivery(reply.raw, decision)
          : holdResponse(reply.raw, decision, earlier)
      return mayRun ? undefined : reply.hijack()
    }
    const { status, headers: answerHeaders, body } = decision.answer
    reply.code(status)
    reply.headers({ ...answerHeaders })
    return reply.send(body)
  }

  return Object.assign(sell, { refund: decide.refund })
}

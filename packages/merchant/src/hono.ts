import { deliver, keepOrigin, readRequest } from './fetch-delivery.ts'
import { deliverAuthorized } from './fetch-settlement.ts'
import { createPaymentGate, type Answer, type PaymentOptions } from './gate.ts'

export type * from './gate.ts'
export { paymentOf } from './payment.ts'

/** The used part of Hono's `Context`. */
interface Context {
  readonly req: {
    readonly raw: Request
    readonly path: string
    readonly routeIndex: number
    readonly matchedRoutes: readonly { readonly path: string; readonly basePath?: string }[]
  }
  readonly env: unknown
  /** What the handler has thrown, if `onError` has answered it. */
  readonly error: Error | undefined
  get res(): Response
  set res(response: Response | undefined)
  header(name: string, value?: string): void
  /** A response with the headers that were set before. */
  body(data: string | null, status?: number): Response
}

/**
 * Middleware for Hono that passes only paid requests to the handler. An unpaid request gets a 402 with the
 * price, and a 503 while its payment cannot be verified. Throws a `TypeError` for options that can never work (Endpoints,
 * `POST /v1/payments/verify`).
 *
 * @example
 * app.get('/data', requirePayment({ client, merchantDomain, price: '4.00' }), handler)
 */
export function requirePayment<C extends Context>(options: PaymentOptions<C>) {
  const decide = createPaymentGate(options)

  async function sell(context: C, next: () => Promise<void>): Promise<Response | undefined> {
    const { raw, path, matchedRoutes, routeIndex } = context.req
    // `path` is the path that the router matched; the request of `@hono/node-server` still has the part that
    // `app.mount` stripped.
    const { incoming } = (context.env ?? {}) as { readonly incoming?: { readonly url?: string } }
    const place = { rewritten: [path, incoming?.url], mount: matchedRoutes[routeIndex]?.basePath }
    const decision = await decide({ ...readRequest(raw), ...place, request: context })
    if (decision.outcome === 'free') {
      await next()
      return undefined
    }
    if (decision.outcome !== 'paid' && decision.outcome !== 'authorized') {
      const { status, headers, body } = decision.answer
      for (const [name, value] of Object.entries(headers)) context.header(name, value)
      return context.body(body, status)
    }
    const { headers: earlier } = context.body(null)
    // The application's value is for free responses, and would replace that of the paid one.
    context.header('cache-control')
    if (decision.outcome === 'authorized') {
      const refuse = ({ status, headers, body }: Answer) => {
        for (const [name, value] of Object.entries(headers)) earlier.set(name, value)
        return new Response(body, { status, headers: earlier })
      }
      const handle = async () => {
        await next()
        if (context.error) await decision.void()
        return context.res
      }
      const settled = await deliverAuthorized(decision, raw, handle, { refuse })
      // Otherwise Hono adds the headers of the earlier response, which may be withheld.
      context.res = undefined
      context.res = settled
      return settled
    }
    const answer = await deliver(decision, raw, async () => {
      await next()
      return context.res
    })
    // It cannot be copied.
    if (answer.status < 200) return answer
    // Hono already has the handler's response; this one reports when it was read.
    if (answer !== context.res) context.res = answer
    // Hono copies it to add headers.
    keepOrigin(answer)
    for (const [name, value] of Object.entries(decision.headers)) {
      // The handler's own headers are kept.
      if (!answer.headers.has(name)) context.header(name, value)
    }
    // Applies if the handler did not run.
    return answer
  }

  return Object.assign(sell, { refund: decide.refund })
}

import { readRequest, toResponse } from './fetch-delivery.ts'
import { createPaymentGate, type PaymentOptions } from './gate.ts'

export type * from './gate.ts'

/** What is used of Hono's context; your own `Context` is one. */
interface Context {
  readonly req: { readonly raw: Request }
  readonly res: Response
  readonly error: Error | undefined
  header(name: string, value: string): void
}

/** Middleware for Hono that lets paid requests through: `app.get('/data', requirePayment({ … }), handler)`. */
export function requirePayment<C extends Context>(options: PaymentOptions<C>) {
  const decide = createPaymentGate(options)

  return async (context: C, next: () => Promise<void>): Promise<Response | undefined> => {
    const { raw } = context.req
    const decision = await decide({ ...readRequest(raw), request: context })
    if (decision.outcome === 'paid') {
      // Nobody reads this answer, and nothing was delivered.
      if (raw.signal.aborted) {
        await decision.notDelivered()
        return new Response(null, { status: 503 })
      }
      await next()
      if (context.error || context.res.status >= 500 || raw.signal.aborted) await decision.notDelivered()
      for (const [name, value] of Object.entries(decision.headers)) {
        // What the handler said itself stays.
        if (!context.res.headers.has(name)) context.header(name, value)
      }
    } else if (decision.outcome === 'free') await next()
    else return toResponse(decision.answer)
    return undefined
  }
}

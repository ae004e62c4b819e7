import { deliver, readRequest, toResponse } from './fetch-delivery.ts'
import { createPaymentGate, type PaymentOptions } from './gate.ts'

export type * from './gate.ts'

/** What is used of Hono's context; your own `Context` is one. */
interface Context {
  readonly req: { readonly raw: Request }
  readonly res: Response
  header(name: string, value: string): void
}

/** Middleware for Hono that lets paid requests through: `app.get('/data', requirePayment({ … }), handler)`. */
export function requirePayment<C extends Context>(options: PaymentOptions<C>) {
  const decide = createPaymentGate(options)

  return async (context: C, next: () => Promise<void>): Promise<Response | undefined> => {
    const { raw } = context.req
    const decision = await decide({ ...readRequest(raw), request: context })
    if (decision.outcome === 'free') {
      await next()
      return undefined
    }
    if (decision.outcome !== 'paid') return toResponse(decision.answer)
    const answer = await deliver(decision, raw, async () => {
      await next()
      return context.res
    })
    for (const [name, value] of Object.entries(decision.headers)) {
      // What the handler said itself stays.
      if (!answer.headers.has(name)) context.header(name, value)
    }
    // Hono has the handler's answer already; this counts when the handler was not run.
    return answer
  }
}

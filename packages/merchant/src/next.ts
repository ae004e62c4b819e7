import { deliver, readRequest, toResponse, withReceipt } from './fetch-delivery.ts'
import { createPaymentGate, type PaymentOptions } from './gate.ts'

export type * from './gate.ts'
export { paymentOf } from './payment.ts'

/** A route handler of Next's App Router that answers requests that are paid: `export const GET = requirePayment(…)`. */
export function requirePayment<NextRequest extends Request, Rest extends unknown[]>(
  options: PaymentOptions<NextRequest>,
  handler: (request: NextRequest, ...rest: Rest) => Response | Promise<Response>,
) {
  const decide = createPaymentGate(options)

  return async (request: NextRequest, ...rest: Rest): Promise<Response> => {
    const decision = await decide({ ...readRequest(request), request })
    if (decision.outcome === 'free') return handler(request, ...rest)
    if (decision.outcome === 'paid') {
      const answer = await deliver(decision, request, () => handler(request, ...rest), isAnswerOfNext)
      return withReceipt(answer, decision)
    }
    return toResponse(decision.answer)
  }
}

/** `redirect()` and `notFound()` are answers of a handler, although they are thrown. */
function isAnswerOfNext(thrown: unknown): boolean {
  const { digest } = (thrown ?? {}) as { digest?: unknown }
  return typeof digest === 'string' && digest.startsWith('NEXT_')
}

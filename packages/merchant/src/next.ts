import { deliver, readRequest, toResponse, withReceipt } from './fetch-delivery.ts'
import { deliverAuthorized } from './fetch-settlement.ts'
import { createPaymentGate, type PaymentOptions } from './gate.ts'

export type * from './gate.ts'
export { paymentOf } from './payment.ts'

/**
 * A route handler for Next's App Router that runs only for paid requests. An unpaid request gets a 402 with the
 * price, and a 503 while its payment cannot be verified. Throws a `TypeError` for options that can never work (Endpoints,
 * `POST /v1/payments/verify`).
 *
 * @example
 * export const GET = requirePayment({ client, merchantDomain, price: '4.00' }, handler)
 */
export function requirePayment<NextRequest extends Request, Rest extends unknown[]>(
  options: PaymentOptions<NextRequest>,
  handler: (request: NextRequest, ...rest: Rest) => Response | Promise<Response>,
) {
  const decide = createPaymentGate(options)

  async function sell(request: NextRequest, ...rest: Rest): Promise<Response> {
    const decision = await decide({ ...readRequest(request), request })
    if (decision.outcome === 'free') return handler(request, ...rest)
    if (decision.outcome === 'paid') {
      const answer = await deliver(decision, request, () => handler(request, ...rest), isAnswerOfNext)
      return withReceipt(answer, decision)
    }
    if (decision.outcome === 'authorized') {
      return deliverAuthorized(decision, request, () => handler(request, ...rest), { statusOfThrown })
    }
    return toResponse(decision.answer)
  }

  return Object.assign(sell, { refund: decide.refund })
}

/** `redirect()` and `notFound()` throw, but are responses of the handler. */
function isAnswerOfNext(thrown: unknown): boolean {
  const { digest } = (thrown ?? {}) as { digest?: unknown }
  return typeof digest === 'string' && digest.startsWith('NEXT_')
}

/** The status of such a response: the last number in a digest such as `NEXT_HTTP_ERROR_FALLBACK;404`. */
function statusOfThrown(thrown: unknown): number | undefined {
  if (!isAnswerOfNext(thrown)) return undefined
  const { digest } = thrown as { readonly digest: string }
  return Number(/;(\d{3});?$/.exec(digest)?.[1] ?? 307)
}

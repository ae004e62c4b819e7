import { PurserError } from '../errors.ts'
import type { Proof } from '../wire-types.ts'
import { finishPayment, type FinishOptions } from './finish-payment.ts'
import { isRepeatableRequest, type FetchArguments } from './repeatable-request.ts'
import { PaymentUncertainError, shownPaymentOf } from './uncertain-payment.ts'

/** How a payment is finished. */
export interface ResumeOptions extends Pick<
  FinishOptions,
  'client' | 'maxRetries' | 'timeout' | 'random' | 'sleep'
> {
  /** What sends the request; the `fetch` of the platform when left out. */
  readonly fetch?: typeof globalThis.fetch | undefined
  /** Ends the wait. The signal of the first call counts no more. */
  readonly signal?: AbortSignal | undefined
  /** For a proof that comes without its error: the method, headers and body of the request; a plain GET when left out. */
  readonly init?: RequestInit | undefined
}

/**
 * Finishes a payment that ended in a `PaymentUncertainError`: shows the same proof again, with the same request, and gives
 * what the wrapped fetch would have given. The proof is charged once at most, however often this is called. It takes the
 * error itself, or the proof of one, which buys what lies at `proof.resource`.
 *
 * Rejects as the wrapped fetch does after a proof was shown: with a `PaymentUncertainError` or one of its subclasses.
 *
 * @example
 * try {
 *   answer = await fetchPaid(url, { signal: AbortSignal.timeout(30_000) })
 * } catch (error) {
 *   if (!(error instanceof PaymentUncertainError)) throw error
 *   answer = await resumePayment(error, { client })
 * }
 */
export async function resumePayment(
  uncertain: PaymentUncertainError | Proof,
  { fetch = globalThis.fetch, signal, init, ...options }: ResumeOptions,
): Promise<Response> {
  const { proof, request } =
    uncertain instanceof PaymentUncertainError
      ? shownPaymentOf(uncertain)
      : { proof: uncertain, request: requestFor(uncertain, init) }
  return finishPayment({ proof, request }, { ...options, fetch, signal })
}

function requestFor({ resource }: Proof, init: RequestInit | undefined): FetchArguments {
  const request = { input: resource, init }
  if (isRepeatableRequest(request)) return request
  throw new PurserError(
    'init.body is a stream, which cannot be sent twice; pass text, bytes, a Blob or a form',
  )
}

import { PurserError } from '../errors.ts'
import type { Proof } from '../wire-types.ts'
import { finishPayment, type FinishOptions } from './finish-payment.ts'
import { isRepeatableRequest, type FetchArguments } from './repeatable-request.ts'
import { PaymentUncertainError, shownPaymentOf } from './uncertain-payment.ts'

/** Options for completing a payment. */
export interface ResumeOptions extends Pick<
  FinishOptions,
  'client' | 'maxRetries' | 'timeout' | 'random' | 'sleep'
> {
  /** The `fetch` that sends the request; by default the platform's. */
  readonly fetch?: typeof globalThis.fetch | undefined
  /** Aborts the call. The signal of the first call no longer applies. */
  readonly signal?: AbortSignal | undefined
  /** For a proof without its error: the method, headers and body of the request; by default a plain GET. */
  readonly init?: RequestInit | undefined
}

/**
 * Completes a payment that ended in a `PaymentUncertainError`: sends the same request with the same proof
 * again, and returns what the wrapped fetch would have returned. The proof is charged at most once, however
 * often you call this. Pass the error itself, or its proof, which then pays for `proof.resource`.
 *
 * Rejects with a `PaymentUncertainError` or one of its subclasses, like the wrapped fetch after sending a
 * proof.
 *
 * @example
 * let answer: Response
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

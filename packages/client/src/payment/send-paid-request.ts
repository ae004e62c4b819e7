import type { Sleep } from '../options.ts'
import { backoffMs, isPassing, maxRetriesLimit, parseRetryAfter, sleep as sleepForReal } from '../retries.ts'
import { timerMs, unlessAborted } from '../timers.ts'
import { notAnsweredWithin } from '../unanswered.ts'
import type { Proof } from '../wire-types.ts'
import { encodeJson } from './base64.ts'
import { isSameOrigin, redirected, redirectLocation, type RedirectedRequest } from './redirects.ts'

/** One request to send with a proof. It must not follow redirects by itself. */
export interface PaidAttempt {
  readonly url: string
  readonly method: string
  /** False after a redirect that changed the method to GET: then send no body and no body headers. */
  readonly withBody: boolean
  /** Add these to the headers of the request. */
  readonly headers: { readonly 'x-payment-proof': string }
  /** Aborts if the attempt takes too long, or if the caller aborts. */
  readonly signal: AbortSignal
}

/** A request with a proof, for any HTTP client. */
export interface PaidRequest<Answer> {
  readonly proof: Proof
  readonly method: string
  /** Sends one attempt. Rejects if there is no response. */
  readonly send: (attempt: PaidAttempt) => Promise<Answer>
  /**
   * Reads what must have arrived of a response before it counts. If this rejects, the attempt has failed. `timeoutMs` does
   * not apply to it.
   */
  readonly receive?: ((answer: Answer) => Promise<Answer>) | undefined
  /** The status and headers of a response; a missing header is null or undefined. */
  readonly read: (answer: Answer) => {
    readonly status: number
    readonly header: (name: string) => string | null | undefined
  }
  /** Releases a response that will not be read. */
  readonly discard?: ((answer: Answer) => void | Promise<void>) | undefined
  /** The initial URL; by default the resource of the proof. Must have the same origin as that resource. */
  readonly url?: string | undefined
  /** Whether to follow redirects within the origin; default true. */
  readonly followRedirects?: boolean | undefined
  /** Max number of retries; default 4, max 10. */
  readonly maxRetries?: number | undefined
  /** Max milliseconds until the response to an attempt begins; default 60,000. */
  readonly timeoutMs?: number | undefined
  /**
   * Milliseconds after which there are no more retries; by default the five minutes that a proof is valid.
   */
  readonly windowMs?: number | undefined
  /** Aborts the attempt and the pauses. */
  readonly signal?: AbortSignal | undefined
  /** As in `PurserOptions`, for tests. */
  readonly random?: (() => number) | undefined
  readonly sleep?: Sleep | undefined
}

/**
 * The result of sending a proof.
 *
 * - `answered`: a final response. A 402 is a refusal; a temporary failure with the header `X-Payment-Voided` is final, too.
 * - `redirected`: a redirect to another origin, or too many of them. Nothing was sent to `location`.
 * - `failed`: the last attempt got a temporary failure (408, 425, 429, 5xx) as its `answer`, or no response,
 *   for the reason in `error`.
 *
 * Only the service knows whether the proof was charged: `payments.getProof(nonce)`.
 */
export type ShownProof<Answer> =
  | { readonly outcome: 'answered'; readonly answer: Answer }
  | { readonly outcome: 'redirected'; readonly answer: Answer; readonly location: string | null }
  | { readonly outcome: 'failed'; readonly answer: Answer | undefined; readonly error: unknown }

/** The validity window of a proof (Limits). */
const proofWindowMs = 5 * 60_000

const defaultMaxRetries = 4
export const defaultTimeoutMs = 60_000
const maxRedirects = 5

/**
 * Sends a request with its proof until the merchant answers. Retries after a dropped connection, a timeout,
 * or a 408, 425, 429 or 5xx, always with the same proof, so it is charged at most once. Uses exponential
 * backoff with jitter, and honors `Retry-After`; after a failure without one, it waits 1, 3, then 5 seconds longer. The proof is sent only to the origin it was issued for: up
 * to five redirects within it are followed.
 *
 * Never rejects. If the signal aborts, the outcome is `failed`, with the signal's reason as `error`.
 *
 * @example
 * const shown = await sendPaidRequest({
 *   proof,
 *   method: 'GET',
 *   send: ({ url, method, headers, signal }) => fetch(url, { method, headers, signal, redirect: 'manual' }),
 *   read: ({ status, headers }) => ({ status, header: (name) => headers.get(name) }),
 * })
 */
export async function sendPaidRequest<Answer>(request: PaidRequest<Answer>): Promise<ShownProof<Answer>> {
  const { windowMs = proofWindowMs, signal } = request
  const maxRetries = Math.min(request.maxRetries ?? defaultMaxRetries, maxRetriesLimit)
  const { random = Math.random, sleep = sleepForReal } = request
  const startedMs = performance.now()
  for (let retry = 1; ; retry++) {
    const shown = await attemptOf(request)
    if (shown.outcome !== 'failed' || signal?.aborted) return shown
    const restMs = shown.answer === undefined ? 0 : (retryAfterOf(request, shown.answer) ?? recoveryMs(retry))
    const pauseMs = restMs + backoffMs(retry, random)
    const elapsedMs = performance.now() - startedMs
    if (retry > maxRetries || !(elapsedMs + pauseMs < windowMs)) return shown
    try {
      await sleep(pauseMs, signal)
    } catch (error) {
      return { ...shown, error }
    }
    if (shown.answer !== undefined) release(request, shown.answer)
  }
}

/** Time for a merchant that failed to recover: it may have been paid, and deliver for the same proof only a few times. */
function recoveryMs(retry: number): number {
  return Math.min(1_000 * 3 ** (retry - 1), 5_000)
}

/** Sends the request once, and again for each redirect. */
async function attemptOf<Answer>(request: PaidRequest<Answer>): Promise<ShownProof<Answer>> {
  const { proof, followRedirects = true } = request
  let next: RedirectedRequest = {
    url: request.url ?? proof.resource,
    method: request.method.toUpperCase(),
    withBody: true,
  }
  for (let redirects = 0; ; redirects++) {
    let answer: Answer
    try {
      const begun = await sendInTime(request, next)
      answer = request.receive ? await receiveInTime(request, request.receive, begun) : begun
    } catch (error) {
      return { outcome: 'failed', answer: undefined, error }
    }
    const { status, header } = request.read(answer)
    // Once the merchant has voided the payment, the same proof gets no goods any more.
    if (isPassing(status) && header('x-payment-voided') === proof.nonce)
      return { outcome: 'answered', answer }
    if (isPassing(status)) return { outcome: 'failed', answer, error: undefined }
    const location = redirectLocation({ status, location: header('location') ?? null }, next.url)
    if (location === null) return { outcome: 'answered', answer }
    if (!followRedirects || redirects === maxRedirects || !isSameOrigin(location, proof.resource)) {
      return { outcome: 'redirected', answer, location }
    }
    release(request, answer)
    next = redirected(next, status, location)
  }
}

/**
 * Discards a response, also one that arrives too late, without waiting. A body that cannot be discarded says nothing about the
 * payment.
 */
function release<Answer>(
  { discard }: Pick<PaidRequest<Answer>, 'discard'>,
  answer: Answer | Promise<Answer>,
): void {
  void (async () => discard?.(await answer))().catch(() => {})
}

/** Rejects if no response begins in time, even if `send` ignores its signal. */
async function sendInTime<Answer>(
  { proof, send, discard, timeoutMs = defaultTimeoutMs, signal }: PaidRequest<Answer>,
  next: RedirectedRequest,
): Promise<Answer> {
  signal?.throwIfAborted()
  const controller = new AbortController()
  const late = notAnsweredWithin(timeoutMs, `${next.method} ${next.url}`)
  const timer = setTimeout(() => controller.abort(late), timerMs(timeoutMs))
  const both = signal ? AbortSignal.any([signal, controller.signal]) : controller.signal
  const headers = { 'x-payment-proof': encodeJson(proof) }
  const sending = (async () => send({ ...next, headers, signal: both }))()
  try {
    return await unlessAborted(sending, both)
  } catch (error) {
    release({ discard }, sending)
    throw both.aborted ? both.reason : error
  } finally {
    clearTimeout(timer)
  }
}

/** What `receive` returns; rejects when the caller aborts, even if the request ignores its signal. */
async function receiveInTime<Answer>(
  { discard, signal }: PaidRequest<Answer>,
  receive: (answer: Answer) => Promise<Answer>,
  begun: Answer,
): Promise<Answer> {
  const receiving = receive(begun)
  try {
    return await unlessAborted(receiving, signal)
  } catch (error) {
    release({ discard }, receiving)
    throw error
  }
}

function retryAfterOf<Answer>({ read }: PaidRequest<Answer>, answer: Answer): number | null {
  return parseRetryAfter(read(answer).header('retry-after') ?? null)
}

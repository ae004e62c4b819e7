import { TimeoutError } from '../errors.ts'
import type { Sleep } from '../options.ts'
import { backoffMs, isPassing, maxRetriesLimit, parseRetryAfter, sleep as sleepForReal } from '../retries.ts'
import type { Proof } from '../wire-types.ts'
import { encodeJson } from './base64url.ts'
import { isSameOrigin, redirected, redirectLocation, type RedirectedRequest } from './redirects.ts'

/** One request to be sent with a proof. It must not follow redirects by itself. */
export interface PaidAttempt {
  readonly url: string
  readonly method: string
  /** False after a redirect that turned the request into a GET: then send no body, and no header that describes one. */
  readonly withBody: boolean
  /** To be added to the headers of the request. */
  readonly headers: { readonly 'x-payment-proof': string }
  /** Aborts when the attempt takes too long, or the caller gives up. */
  readonly signal: AbortSignal
}

/** A request that shows a proof, for any way to send it. */
export interface PaidRequest<Answer> {
  readonly proof: Proof
  readonly method: string
  /** Sends one attempt. Rejects when there is no answer. */
  readonly send: (attempt: PaidAttempt) => Promise<Answer>
  /** The status and the headers of an answer; a header that is missing is null or undefined. */
  readonly read: (answer: Answer) => {
    readonly status: number
    readonly header: (name: string) => string | null | undefined
  }
  /** Releases an answer that nobody will read. */
  readonly discard?: ((answer: Answer) => void | Promise<void>) | undefined
  /** Where the request goes first; the resource of the proof when left out. Must have the origin of that resource. */
  readonly url?: string | undefined
  /** Whether redirects within the origin are followed; true when left out. */
  readonly followRedirects?: boolean | undefined
  /** How often the request is sent again, at most; 4 when left out, 10 at the most. */
  readonly maxRetries?: number | undefined
  /** Milliseconds that the answer to one attempt may take to begin; 60,000 when left out. */
  readonly timeoutMs?: number | undefined
  /** Milliseconds after which nothing is sent again; the five minutes that a proof is valid when left out. */
  readonly windowMs?: number | undefined
  /** Ends the attempt and the pauses. */
  readonly signal?: AbortSignal | undefined
  /** As in `PurserOptions`, for tests. */
  readonly random?: (() => number) | undefined
  readonly sleep?: Sleep | undefined
}

/**
 * What came of showing a proof.
 *
 * - `answered`: an answer that sending again would not change. A 402 among them is a refusal.
 * - `redirected`: a redirect to another origin, or too many of them. Nothing was sent to `location`.
 * - `failed`: the last attempt got a passing failure (408, 425, 429, 5xx) as its `answer`, or none, for the reason in
 *   `error`.
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
const defaultTimeoutMs = 60_000
const maxRedirects = 5

/**
 * Sends a request with its proof until the merchant answers: again after a dropped connection, a timeout, or a
 * 408, 425, 429 or 5xx, always with the same proof, so it is charged once at most. Pauses grow, are jittered, and honor
 * `Retry-After`. The proof goes only to the origin it was bought for: redirects within it are followed, at most five.
 *
 * Never rejects. When the signal aborts, the outcome is `failed`, with the signal's reason as `error`.
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
    const askedMs = shown.answer === undefined ? null : retryAfterOf(request, shown.answer)
    const pauseMs = (askedMs ?? 0) + backoffMs(retry, random)
    const elapsedMs = performance.now() - startedMs
    if (retry > maxRetries || !(elapsedMs + pauseMs < windowMs)) return shown
    try {
      await sleep(pauseMs, signal)
    } catch (error) {
      return { ...shown, error }
    }
    if (shown.answer !== undefined) await request.discard?.(shown.answer)
  }
}

/** Sends the request once, and again for each redirect. */
async function attemptOf<Answer>(request: PaidRequest<Answer>): Promise<ShownProof<Answer>> {
  const { proof, followRedirects = true, discard } = request
  let next: RedirectedRequest = {
    url: request.url ?? proof.resource,
    method: request.method.toUpperCase(),
    withBody: true,
  }
  for (let redirects = 0; ; redirects++) {
    let answer: Answer
    try {
      answer = await sendInTime(request, next)
    } catch (error) {
      return { outcome: 'failed', answer: undefined, error }
    }
    const { status, header } = request.read(answer)
    if (isPassing(status)) return { outcome: 'failed', answer, error: undefined }
    const location = redirectLocation({ status, location: header('location') ?? null }, next.url)
    if (location === null) return { outcome: 'answered', answer }
    if (!followRedirects || redirects === maxRedirects || !isSameOrigin(location, proof.resource)) {
      return { outcome: 'redirected', answer, location }
    }
    await discard?.(answer)
    next = redirected(next, status, location)
  }
}

/** Rejects when no answer begins in time, also when `send` does not heed its signal. */
async function sendInTime<Answer>(
  { proof, send, discard, timeoutMs = defaultTimeoutMs, signal }: PaidRequest<Answer>,
  next: RedirectedRequest,
): Promise<Answer> {
  signal?.throwIfAborted()
  const controller = new AbortController()
  const late = new TimeoutError(`${next.method} ${next.url} was not answered within ${timeoutMs} ms`)
  const timer = setTimeout(() => controller.abort(late), timeoutMs)
  const both = signal ? AbortSignal.any([signal, controller.signal]) : controller.signal
  const aborted = new Promise<never>((_, reject) => {
    both.addEventListener('abort', () => reject(both.reason as Error), { once: true })
  })
  const sending = send({ ...next, headers: { 'x-payment-proof': encodeJson(proof) }, signal: both })
  try {
    return await Promise.race([sending, aborted])
  } catch (error) {
    // An answer that comes later is nobody's.
    sending.then((answer) => discard?.(answer)).catch(() => {})
    throw both.aborted ? both.reason : error
  } finally {
    clearTimeout(timer)
  }
}

function retryAfterOf<Answer>({ read }: PaidRequest<Answer>, answer: Answer): number | null {
  return parseRetryAfter(read(answer).header('retry-after') ?? null)
}

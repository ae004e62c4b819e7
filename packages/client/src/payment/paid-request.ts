import { PurserError } from '../errors.ts'
import type { Sleep } from '../options.ts'
import { pauseMs, retryAfterMs, sleep as sleepForReal } from '../retries.ts'
import type { Proof } from '../wire-types.ts'
import { peekJson } from './peek-json.ts'
import { headersOf, signalOf, type FetchArguments } from './repeatable-request.ts'

/**
 * The request that carried the proof got no answer, however often it was sent. The proof may have been charged:
 * `payments.getProof(nonce)` tells.
 */
export class PaymentUncertainError extends PurserError {
  override readonly name = 'PaymentUncertainError'
  /** The nonce of the proof that was sent. */
  readonly nonce: string

  constructor(nonce: string, cause: unknown) {
    super(`The paid request was not answered; payments.getProof('${nonce}') tells whether it was charged`, {
      cause,
    })
    this.nonce = nonce
  }
}

/** How a paid request is repeated. */
export interface PaidRequestOptions {
  readonly fetch: typeof globalThis.fetch
  readonly maxRetries: number
  readonly random?: (() => number) | undefined
  readonly sleep?: Sleep | undefined
}

/**
 * The answer to the request with its proof. When there is no answer, or the merchant could not have the proof verified,
 * the request is sent again with the same proof: however often it arrives, it is charged once.
 */
export async function sendPaid(
  request: FetchArguments,
  proof: Proof,
  { fetch, maxRetries, random = Math.random, sleep = sleepForReal }: PaidRequestOptions,
): Promise<Response> {
  const headers = headersOf(request)
  headers.set('x-payment-proof', encodeJson(proof))
  const signal = signalOf(request)
  for (let retry = 1; ; retry++) {
    let answer: Response | undefined
    let failure: unknown
    try {
      answer = await fetch(request.input, { ...request.init, headers })
    } catch (error) {
      if (signal?.aborted) throw error
      failure = error
    }
    if (answer && !(await couldNotVerify(answer))) return answer
    const pause =
      retry <= maxRetries ? pauseMs(retry, answer ? retryAfterMs(answer.headers) : null, random) : undefined
    if (pause === undefined) {
      if (answer) return answer
      throw new PaymentUncertainError(proof.nonce, failure)
    }
    await answer?.body?.cancel()
    await sleep(pause, signal)
  }
}

/** Any other 503 is the merchant's own, after which nobody knows what it has done. */
async function couldNotVerify(answer: Response): Promise<boolean> {
  if (answer.status !== 503) return false
  const body = await peekJson(answer)
  return (
    typeof body === 'object' &&
    body !== null &&
    'error' in body &&
    body.error === 'payment_could_not_be_verified'
  )
}

/** The JSON text as base64url of its UTF-8. */
function encodeJson(value: unknown): string {
  const bytes = new TextEncoder().encode(JSON.stringify(value))
  const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')
  return btoa(text).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
}

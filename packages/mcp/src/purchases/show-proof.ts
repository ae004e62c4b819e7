import { sendPaidRequest, type Proof, type Sleep } from '@purser/client'

import type { Reason } from '../reason.ts'
import type { Secrets } from '../secrets.ts'
import type { AddressGuard } from '../web/addresses.ts'
import { proofHeader, quoteChallenge, type QuotedChallenge } from '../web/challenge.ts'
import { contentOf, maxAnswerBytes, type Content } from '../web/content.ts'
import { exchange, type WebAnswer } from '../web/exchange.ts'
import { headersOf, type Order } from './order.ts'
import { cannotVerify, notCharged, refused } from './purchase-reasons.ts'

/** The result of sending the proof. Only the service knows whether it was charged. */
export interface Shown {
  /** Undefined if no answer arrived. */
  readonly response: Content | undefined
  readonly challenge: QuotedChallenge | null
  /** Whether the response contains the goods. */
  readonly isDelivered: boolean
  /** Whether the merchant's final answer does not contain the goods. */
  readonly isRefused: boolean
  /** Why the proof may still be open. */
  readonly whyOpen: Omit<Reason, 'remedy'>
}

/** A proof that may still be charged, and the URL that asked for it. */
export interface ProofInHand {
  readonly proof: Proof
  readonly url: URL
  /** Whether a response to it contained the goods, charged or not. */
  readonly isDelivered: boolean
}

/**
 * Sends the order with its proof to the URL that asked for it. Retries after a dropped connection, a timeout or a
 * temporary failure. Follows redirects within the origin only.
 */
export async function showProof(
  parts: { readonly guard: AddressGuard; readonly secrets: Secrets; readonly sleep?: Sleep | undefined },
  order: Order,
  { proof, url }: ProofInHand,
  signal: AbortSignal,
): Promise<Shown> {
  const { guard, secrets, sleep } = parts
  secrets.add(proofHeader(proof))
  const shown = await sendPaidRequest<WebAnswer>({
    proof,
    url: url.href,
    method: order.method,
    send: ({ url: address, method, withBody, headers, signal: attemptSignal }) =>
      exchange(guard, {
        url: new URL(address),
        method: method === 'POST' ? 'POST' : 'GET',
        headers: { ...headersOf(withBody ? order : { ...order, method: 'GET' }), ...headers },
        body: withBody ? order.body : undefined,
        maxBytes: maxAnswerBytes,
        signal: attemptSignal,
      }),
    read: ({ status, header }) => ({ status, header }),
    windowMs: resendWindowMs,
    signal,
    sleep,
  })
  const { answer } = shown
  const isDelivered = shown.outcome === 'answered' && shown.answer.status < 400
  const isRefused = shown.outcome !== 'failed' && !isDelivered
  return {
    response: answer && contentOf(answer, secrets),
    challenge: answer?.status === 402 ? quoteChallenge(answer) : null,
    isDelivered,
    isRefused,
    whyOpen: isRefused ? refused : answer && couldNotVerify(answer) ? cannotVerify : notCharged,
  }
}

/** Below the time limit for a purchase. */
const resendWindowMs = 35_000

/** After any other 503 the merchant's state is unknown. */
function couldNotVerify({ status, bytes }: WebAnswer): boolean {
  return status === 503 && bytes.includes('"payment_could_not_be_verified"')
}

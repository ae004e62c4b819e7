import type { Proof } from '@purser/client'

import type { Reason } from '../reason.ts'
import type { Secrets } from '../secrets.ts'
import type { AddressGuard } from '../web/addresses.ts'
import { proofHeader, readChallenge } from '../web/challenge.ts'
import { contentOf, type Content } from '../web/content.ts'
import { exchange, type WebAnswer } from '../web/exchange.ts'
import { headersOf, type Order } from './order.ts'

/** What came of showing the proof. What it says of the charge is the merchant's word only. */
export type Shown =
  | { readonly response: Content }
  | { readonly response: Content | undefined; readonly refusal: Reason }
  | { readonly response?: undefined }

/** A proof that may still be charged, and the address that asked for it. */
export interface ProofInHand {
  readonly proof: Proof
  readonly url: URL
}

/** Sends the order with its proof to the address that asked for it. No redirect is followed. */
export async function showProof(
  { guard, secrets }: { readonly guard: AddressGuard; readonly secrets: Secrets },
  order: Order,
  { proof, url }: ProofInHand,
  signal: AbortSignal,
): Promise<Shown> {
  const header = proofHeader(proof)
  secrets.add(header)
  const { method, body, maxBytes } = order
  const headers = { ...headersOf(order), 'x-payment-proof': header }
  let answer
  try {
    answer = await exchange(guard, { url, method, headers, body, maxBytes, signal })
  } catch {
    return {}
  }
  const response = contentOf(answer, secrets)
  if (answer.status === 402) {
    const challenge = readChallenge(answer)
    const why = challenge?.reason ?? 'it gave no reason'
    const price = challenge ? ` It asks ${challenge.amount} for ${challenge.resource}.` : ''
    return { response, refusal: refused(why, price) }
  }
  if (couldNotVerify(answer)) return { response, refusal: cannotVerify(answer.header('retry-after')) }
  return { response }
}

/** Any other 503 is the merchant's own, after which nobody knows what it has done. */
function couldNotVerify({ status, bytes }: WebAnswer): boolean {
  return status === 503 && bytes.includes('"payment_could_not_be_verified"')
}

function refused(why: string, price: string): Reason {
  return {
    reason_code: 'merchant_refused_payment',
    reason_detail: `The merchant did not take the payment: ${why}.${price}`,
    remedy:
      'Nothing has been charged. If the price or the address is another one now, buy with those and a new purchase_id.',
  }
}

function cannotVerify(retryAfter: string | undefined): Reason {
  const seconds = /^\d{1,3}$/.test(retryAfter ?? '') ? retryAfter : '5'
  return {
    reason_code: 'merchant_cannot_verify_now',
    reason_detail: 'The merchant could not have the payment verified, so it gave nothing out.',
    remedy: `Wait ${seconds} seconds, then call again with the same arguments: the same payment is used.`,
  }
}

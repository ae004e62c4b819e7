/** The reasons to refuse a proof. The first four are the service's own (chapter Errors of the interface). */
export type RefusalReason =
  | 'proof_expired'
  | 'amount_mismatch'
  | 'invalid_signature'
  | 'nonce_reused'
  | 'authorization_voided'
  | 'authorization_expired'
  | 'malformed_proof'
  | 'proof_too_large'
  | 'proof_for_another_resource'
  // A denial by the pre-flight check, or the service's reason why this merchant cannot collect.
  | (string & {})

/** The price and how to pay it: the body of a 402 response, and `X-Payment-Challenge` as base64url. */
export interface Challenge {
  readonly error: 'payment_required'
  readonly scheme: 'svc-sandbox'
  readonly network: 'sandbox'
  readonly amount: string
  readonly currency: string
  readonly resource: string
  readonly merchant_domain: string
  readonly category?: string
  /** Only if a proof was refused. */
  readonly reason?: RefusalReason
  /** One sentence for a person or a model. */
  readonly how_to_pay: string
}

/** The receipt: `X-Payment-Receipt` of the paid response, as base64url. */
export interface Receipt {
  readonly transaction_id: string
  readonly amount: string
  readonly currency: string
  readonly resource: string
  readonly merchant_domain: string
  readonly nonce: string
}

/** A response that an adapter sends instead of the goods. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** The requested resource and its price. */
export type Offer = Pick<Challenge, 'amount' | 'resource' | 'merchant_domain' | 'category'>

/** 402: the price, and why a proof was refused, if one was. */
export function challengeAnswer(
  offer: Offer,
  reason?: RefusalReason,
  howToPay = howToPayFor(reason),
): Answer {
  const challenge: Challenge = {
    error: 'payment_required',
    scheme: 'svc-sandbox',
    network: 'sandbox',
    currency: 'USDC',
    ...offer,
    ...(reason === undefined ? {} : { reason }),
    how_to_pay: howToPay,
  }
  return jsonAnswer(402, challenge, { 'x-payment-challenge': encode(challenge) })
}

/** 503: the result of the payment, or the price, is unknown; the same proof can be sent again. */
export function unavailableAnswer(error: string, retryAfterMs = 2_000): Answer {
  return jsonAnswer(503, { error }, { 'retry-after': String(Math.ceil(retryAfterMs / 1000)) })
}

export function jsonAnswer(status: number, body: object, headers: Record<string, string> = {}): Answer {
  return {
    status,
    // Without this header a 402 may be cached, and the next customer would see another's refusal.
    headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store', ...headers },
    body: JSON.stringify(body),
  }
}

/** The headers of a paid response. Shared caches must not serve it to others. */
export function receiptHeaders(receipt: Receipt): Record<string, string> {
  return { 'x-payment-receipt': encode(receipt), 'cache-control': 'private' }
}

/** The headers of an answer whose payment was voided: the customer need not repeat it with the same proof. */
export function voidedHeaders(nonce: string): Record<string, string> {
  return { 'x-payment-voided': nonce, 'cache-control': 'private' }
}

const another =
  'Request a new proof from Purser for exactly this amount and resource, and repeat the request with it'

const remedies: Readonly<Record<string, string>> = {
  proof_expired: `The proof is over five minutes old or was stopped by its owner. ${another}.`,
  amount_mismatch: `The proof is not for exactly this amount. ${another}.`,
  nonce_reused:
    'This proof has been charged for another request, and this server does not know if its goods were delivered. If they never arrived, contact the merchant; a new proof is charged again.',
  proof_for_another_resource: `The proof is not for this resource. ${another}.`,
  invalid_signature: `The proof was modified, or is from another service or environment than the key of this server. ${another}, unmodified.`,
  malformed_proof: 'Send one X-Payment-Proof header: base64url of the JSON of the unmodified proof.',
  proof_too_large: 'Send one X-Payment-Proof header: base64url of the JSON of the proof, and nothing else.',
}

/** The messages for a proof that is charged only after the handler. */
export const howToPayAfter = {
  nonce_reused:
    'This proof was used for another request, and this server does not know if its goods were delivered. Look it up with GET /v1/payments/proofs/{nonce}: unless its status is captured, nothing was charged; if it is, contact the merchant.',
  authorization_voided: `The request for this proof failed, and nothing was charged. ${another}.`,
  authorization_expired: `This proof was not charged in time, and never will be. ${another}.`,
  failed:
    'Three attempts to deliver the goods for this proof completely have failed. Look it up with GET /v1/payments/proofs/{nonce}: once its status is captured, contact the merchant; if it is voided or expired, nothing was charged.',
} as const

/** The message for a proof that an earlier request used, for another price of the same resource. */
export const howToPayForOtherPrice =
  'This proof may have been charged for an earlier request, whose price was not the price of this one. Look it up with GET /v1/payments/proofs/{nonce}: if its status is captured, repeat the earlier request, or contact the merchant; a new proof is charged again.'

/** The message for a charged proof, by the state of its delivery. */
export const howToPayAgain = {
  delivered: `This proof has bought its goods already. ${another}.`,
  failed:
    'This proof has been charged, and three attempts to deliver its goods completely have failed. Contact the merchant; a new proof is charged again.',
} as const

function howToPayFor(reason: RefusalReason | undefined): string {
  if (reason === undefined) {
    return 'Request a proof from Purser (POST /v1/payments/proof) for this amount and resource, and repeat the request with X-Payment-Proof: base64url of its JSON.'
  }
  return (
    remedies[reason] ?? `Purser does not allow this payment (${reason}); another proof will not change that.`
  )
}

/** Base64url of a value's JSON, with non-ASCII characters escaped. */
function encode(value: object): string {
  const text = JSON.stringify(value).replace(/[\u0080-\uffff]/g, escape)
  return btoa(text).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

function escape(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** Why a proof that was shown is refused; the first four are the service's own (Errors of the interface). */
export type RefusalReason =
  | 'proof_expired'
  | 'amount_mismatch'
  | 'invalid_signature'
  | 'nonce_reused'
  | 'malformed_proof'
  | 'proof_too_large'
  | 'proof_for_another_resource'
  // A denial of the pre-flight check, or the service's word that this merchant cannot collect.
  | (string & {})

/** What is to be paid, and how: the body of a 402 answer, and as base64url in `X-Payment-Challenge`. */
export interface Challenge {
  readonly error: 'payment_required'
  readonly scheme: 'svc-sandbox'
  readonly network: 'sandbox'
  readonly amount: string
  readonly currency: string
  readonly resource: string
  readonly merchant_domain: string
  readonly category?: string
  /** Only when a proof was shown and refused. */
  readonly reason?: RefusalReason
  /** One sentence for a person or a model. */
  readonly how_to_pay: string
}

/** What was paid: as base64url in `X-Payment-Receipt` of the answer that carries the goods. */
export interface Receipt {
  readonly transaction_id: string
  readonly amount: string
  readonly currency: string
  readonly resource: string
  readonly merchant_domain: string
  readonly nonce: string
}

/** An answer that an adapter sends in place of the goods. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** What is asked for, before it is paid. */
export type Offer = Pick<Challenge, 'amount' | 'resource' | 'merchant_domain' | 'category'>

/** 402: what is to be paid, and, when a proof was refused, why. */
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

/** 503: whether the payment stands is not known, or its price is not; the same proof may be shown again. */
export function unavailableAnswer(error: string, retryAfterMs = 2_000): Answer {
  return jsonAnswer(503, { error }, { 'retry-after': String(Math.ceil(retryAfterMs / 1000)) })
}

export function jsonAnswer(status: number, body: object, headers: Record<string, string> = {}): Answer {
  return {
    status,
    // A 402 may be cached unless it says otherwise, and the next customer would see another's refusal.
    headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store', ...headers },
    body: JSON.stringify(body),
  }
}

/** The headers of a paid answer. What one customer paid for is not for a shared cache to give to others. */
export function receiptHeaders(receipt: Receipt): Record<string, string> {
  return { 'x-payment-receipt': encode(receipt), 'cache-control': 'private' }
}

const another =
  'Ask Purser for a new proof of exactly this amount and resource, and repeat the request with it'

const remedies: Readonly<Record<string, string>> = {
  proof_expired: `The proof is over five minutes old or was stopped by its owner. ${another}.`,
  amount_mismatch: `The proof is not of this amount, to the letter. ${another}.`,
  nonce_reused:
    'This proof has been charged for another request, and this server does not know whether its goods went out. If they never arrived, ask the merchant; a new proof pays for new goods.',
  proof_for_another_resource: `The proof is not for this resource. ${another}.`,
  invalid_signature: `The proof is not as Purser signed it. ${another}, unmodified.`,
  malformed_proof: 'Send one X-Payment-Proof header: base64url of the JSON of the proof, exactly as it came.',
  proof_too_large: 'Send one X-Payment-Proof header: base64url of the JSON of the proof, and nothing else.',
}

/** What a customer is told whose proof was charged, by what this server knows of the goods. */
export const howToPayAgain = {
  delivered: `This proof has bought its goods already. ${another}.`,
  failed:
    'This proof has been charged, and its goods have not been delivered whole in three attempts. Ask the merchant for them; a new proof is charged again.',
} as const

function howToPayFor(reason: RefusalReason | undefined): string {
  if (reason === undefined) {
    return 'Ask Purser for a proof (POST /v1/payments/proof) of this amount and resource, and repeat the request with X-Payment-Proof: base64url of its JSON.'
  }
  return (
    remedies[reason] ??
    `Purser does not let this payment pass (${reason}); another proof will not change that.`
  )
}

/** Base64url of a value's JSON text, in which everything but ASCII is escaped. */
function encode(value: object): string {
  const text = JSON.stringify(value).replace(/[\u0080-\uffff]/g, escape)
  return btoa(text).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

function escape(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}

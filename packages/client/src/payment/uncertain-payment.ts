import { PurserError } from '../errors.ts'
import type { Proof, ProofRecord, ProofStatus } from '../wire-types.ts'
import type { FetchArguments } from './repeatable-request.ts'

/** Why no goods arrived for a proof. */
export type PaymentFailure =
  /** No response: the connection broke, or the response took too long. */
  | 'no_answer'
  /** The caller's signal aborted. */
  | 'aborted'
  /** The merchant answered 408, 425, 429 or 5xx, also to the last attempt. */
  | 'merchant_failed'
  /** The merchant answered with another 4xx. A 402 refuses the proof. */
  | 'refused'
  /** The merchant redirects to another origin, or too often; see `location`. */
  | 'redirected'
  /** The body of the goods was interrupted. */
  | 'incomplete'

/** The state of the proof; `unknown` if the service was not asked or did not answer. */
export type ProofFate = ProofStatus | 'unknown'

/** A payment whose proof was sent, with everything needed to send it again. */
export interface ShownPayment {
  readonly proof: Proof
  readonly request: FetchArguments
}

interface FailureFacts {
  readonly payment: ShownPayment
  readonly reason: PaymentFailure
  readonly fate:
    | (Pick<ProofRecord, 'status' | 'transaction_id'> & Partial<Pick<ProofRecord, 'captured_amount'>>)
    | undefined
  readonly response?: Response | undefined
  readonly location?: string | null | undefined
  readonly cause?: unknown
}

const payments = new WeakMap<PaymentUncertainError, ShownPayment>()

/**
 * A proof was sent, and no goods arrived. The payment may be charged; the subclasses are for when that is
 * known. `resumePayment(error, { client })` sends the same proof again, which is charged at most once.
 * Calling the fetch again would buy again.
 */
export class PaymentUncertainError extends PurserError {
  override readonly name: string = 'PaymentUncertainError'
  /** The nonce of the proof. `payments.getProof(nonce)` returns its state. */
  readonly nonce: string
  /** The amount of the proof, such as `4.00`. */
  readonly amount: string
  readonly currency: string
  /** The URL that the proof pays for. */
  readonly resource: string
  readonly reason: PaymentFailure
  /** The state of the proof when the error was created. */
  readonly status: ProofFate
  /** The transaction of the charge, if known. */
  readonly transactionId: string | null
  /** The merchant's last response, with up to 64 KiB of its body; null if there was none. */
  readonly response: Response | null
  /** The target of the merchant's redirect; null if there was none. */
  readonly location: string | null

  constructor(facts: FailureFacts) {
    const { payment, reason, fate, response, location = null, cause } = facts
    super(messageOf(facts), cause === undefined ? undefined : { cause })
    const { nonce, amount, currency, resource } = payment.proof
    this.nonce = nonce
    this.amount = amount
    this.currency = currency
    this.resource = resource
    this.reason = reason
    this.status = fate?.status ?? 'unknown'
    this.transactionId = fate?.transaction_id ?? null
    this.response = response ?? null
    this.location = location
    payments.set(this, payment)
  }

  /** The proof itself. It can be spent, so it is omitted when the error is printed or serialized. */
  get proof(): Proof {
    return shownPaymentOf(this).proof
  }
}

/** The payment was charged, but no goods arrived. Sending the same proof again may still get them. */
export class PaidNotDeliveredError extends PaymentUncertainError {
  override readonly name = 'PaidNotDeliveredError'
}

/** No goods arrived, and the payment was not charged and never will be. */
export class PaymentNotChargedError extends PaymentUncertainError {
  override readonly name = 'PaymentNotChargedError'
}

/** The error for a proof without goods; its class depends on the state of the proof. */
export function failedPayment(facts: FailureFacts): PaymentUncertainError {
  const status = facts.fate?.status
  switch (status) {
    case 'captured':
      return new PaidNotDeliveredError(facts)
    case 'expired':
    case 'voided':
      return new PaymentNotChargedError(facts)
    case 'open':
    case 'authorized':
    case undefined:
      return new PaymentUncertainError(facts)
    default:
      return status satisfies never
  }
}

export function shownPaymentOf(error: PaymentUncertainError): ShownPayment {
  const payment = payments.get(error)
  if (!payment) throw new PurserError('This error was not created by this copy of @purser/client')
  return payment
}

function messageOf({ payment, reason, fate, response, location }: FailureFacts): string {
  const { amount, currency, resource, nonce } = payment.proof
  const toDo =
    reason === 'redirected'
      ? 'get the goods there, without the proof'
      : 'resumePayment(error) requests the goods again'
  return `${happened(reason, response?.status, location)}; ${charged(fate, `${fate?.captured_amount ?? amount} ${currency}`, toDo)} (${resource}, nonce ${nonce})`
}

function happened(reason: PaymentFailure, status: number | undefined, location?: string | null): string {
  switch (reason) {
    case 'no_answer':
      return 'The merchant did not answer the paid request'
    case 'aborted':
      return 'The paid request was aborted'
    case 'merchant_failed':
    case 'refused':
      return `The merchant answered the paid request with ${status}`
    case 'redirected':
      return `The merchant redirects the paid request to ${location ?? 'another address'}`
    case 'incomplete':
      return 'The response to the paid request was interrupted'
    default:
      return reason satisfies never
  }
}

function charged(fate: FailureFacts['fate'], price: string, toDo: string): string {
  const status = fate?.status
  switch (status) {
    case 'captured':
      return `${price} was charged (transaction ${fate?.transaction_id}): ${toDo}`
    case 'expired':
    case 'voided':
      return 'nothing was charged'
    case 'authorized':
      return `${price} has not been charged, but the merchant has authorized it and may still charge it`
    case 'open':
      return `${price} has not been charged but may be: resumePayment(error) sends the same proof again`
    case undefined:
      return `${price} may have been charged: resumePayment(error) sends the same proof again`
    default:
      return status satisfies never
  }
}

import {
  challengeAnswer,
  jsonAnswer,
  receiptHeaders,
  unavailableAnswer,
  type Answer,
  type Offer,
  type Receipt,
  type RefusalReason,
} from './challenge.ts'
import { createCollector } from './deliveries/collection.ts'
import { inTime } from './deliveries/in-time.ts'
import { isFree, assertPrice, readOptions, type PaymentOptions, type Price } from './options.ts'
import { keepPayment, paymentFor, type Payment } from './payment.ts'
import { readProofHeader } from './proof-header.ts'
import { refunds } from './refunds.ts'
import { isForResource, resourceOf } from './resource/resource.ts'
import { settlementOf, type Settle } from './settlement.ts'

export type { PaymentClient } from './client.ts'
export type { Answer, Challenge, Receipt, RefusalReason } from './challenge.ts'
export type { DeliveryStore, KeptDelivery, Worth } from './deliveries/delivery-store.ts'
export type { CaptureTime, HandlerResponse, PaymentOptions, Price, Terms } from './options.ts'
export type { Payment } from './payment.ts'
export type { Refund, RefundOptions } from './refunds.ts'
export type { Settle, Settlement } from './settlement.ts'
export { paymentOf } from './payment.ts'

/** A framework-independent request. */
export interface AskedFor<Request> {
  readonly method: string
  /** The original path and query. */
  readonly target: string
  /** Alternative request targets that a handler may see, such as one rewritten by a framework. */
  readonly rewritten?: readonly (string | undefined)[]
  /** The mount path of the gate, such as `/shop` or `/:tenant`. */
  readonly mount?: string | undefined
  /** The values of the headers `Host` and `X-Forwarded-Host`, `-Proto` and `-Port`, because a path can hide in them. */
  readonly hosts?: readonly (string | readonly string[] | null | undefined)[]
  /** The header `X-Payment-Proof`. */
  readonly proof: string | readonly string[] | null | undefined
  /** The framework's own request, for price functions. */
  readonly request: Request
  /**
   * Set this if `delivered` or `notDelivered` is called for every paid request. Until then, another request
   * with the same proof must wait. Otherwise a paid request counts as delivered, unless `notDelivered` is
   * called.
   */
  readonly reportsDelivery?: boolean
}

/**
 * Whether a request gets the goods. All outcomes except `free`, `paid` and `authorized` have the response to send
 * instead.
 */
export type Decision =
  | { readonly outcome: 'free' }
  | { readonly outcome: 'challenge'; readonly answer: Answer }
  | { readonly outcome: 'refused'; readonly reason: RefusalReason; readonly answer: Answer }
  | { readonly outcome: 'unavailable'; readonly answer: Answer }
  | Paid
  | Authorized

/**
 * With `capture: 'after'` or `'metered'`: the amount is reserved, and nothing is charged. Run the handler, then call
 * `settle` or `void`.
 */
export interface Authorized extends Pick<
  Paid,
  'payment' | 'redeliversUnfinished' | 'delivered' | 'notDelivered' | 'notStarted'
> {
  readonly outcome: 'authorized'
  /** When to call `settle`: before the first byte of the response, or before its end. */
  readonly capture: 'after' | 'metered'
  /** Milliseconds until a response that is still being sent must be settled, or the deadline passes. */
  readonly settleWithinMs: number
  /** Charges for a response, or voids the payment if it must not be charged. Never rejects. */
  readonly settle: Settle
  /** Voids the payment of a handler that threw. Resolves to whether it is certain that nothing is charged. */
  readonly void: () => Promise<boolean>
}

/** The payment was charged: deliver the goods once, with these headers. */
export interface Paid {
  readonly outcome: 'paid'
  readonly receipt: Receipt
  /** The result of `paymentOf(request)` in the handler. */
  readonly payment: Payment
  readonly headers: Readonly<Record<string, string>>
  /** Whether an interrupted response counts as not delivered. */
  readonly redeliversUnfinished: boolean
  /** Marks the goods as delivered: the proof is used up. */
  readonly delivered: () => Promise<void>
  /**
   * Marks the goods as not, or not completely, delivered: the same proof can be used again, at most twice.
   */
  readonly notDelivered: () => Promise<void>
  /** Reports that the handler did not run: the same proof can be used again, and this does not count as a run. */
  readonly notStarted: () => Promise<void>
}

/** Max length of a proof's resource in the interface. */
const maxResourceLength = 2083

/**
 * Creates a gate that decides for each request whether it is paid. In doubt, it is not. Throws a `TypeError` for options
 * that can never work (Endpoints, `POST /v1/payments/verify`).
 *
 * @example
 * const gate = createPaymentGate({ client, merchantDomain, price: '4.00' })
 * const decision = await gate({ method: 'GET', target: '/data', proof: undefined, request: {} })
 * console.log(decision.outcome) // 'challenge'
 */
export function createPaymentGate<Request>(options: PaymentOptions<Request>) {
  const settings = readOptions(options)
  const collect = createCollector(settings)

  return Object.assign(decide, { refund: refunds(settings.client) })

  async function decide(asked: AskedFor<Request>): Promise<Decision> {
    const { method, target, proof: header, request } = asked
    const finding = findTerms(asked)
    if (finding.outcome === 'free') return { outcome: 'free' }
    if (finding.outcome === 'ambiguous') return refused('ambiguous_address', ambiguousAnswer())
    const terms = finding.route
    const resource = resourceOf(settings.publicUrl, target)
    if (resource.length > maxResourceLength) {
      return refused('resource_too_long', jsonAnswer(414, { error: 'resource_too_long' }))
    }
    let amount: string | null
    try {
      amount = await priceOf(terms.price, request)
    } catch (error) {
      settings.onError(error)
      return unavailable('price_could_not_be_determined')
    }
    if (isFree(amount)) return { outcome: 'free' }
    const { merchantDomain: merchant_domain } = settings
    const { category } = terms
    const offer: Offer = {
      amount,
      resource,
      merchant_domain,
      ...(typeof category === 'string' ? { category } : {}),
    }

    // A response to HEAD has no body, so there are no goods.
    if (header === undefined || header === null || method === 'HEAD') {
      return { outcome: 'challenge', answer: challengeAnswer(offer) }
    }
    const reading = readProofHeader(String(header))
    if ('fault' in reading) return refused(reading.fault, challengeAnswer(offer, reading.fault))
    const { proof } = reading
    if (!isForResource(proof.resource, resource)) {
      return refused('proof_for_another_resource', challengeAnswer(offer, 'proof_for_another_resource'))
    }
    const { reportsDelivery = false } = asked
    const capture = terms.capture ?? settings.capture
    const collection = await collect({
      proof,
      offer,
      preflight: terms.preflight ?? false,
      capturesLater: capture !== 'before',
      reportsDelivery,
    })
    const { nonce, currency, agentId: agent_id, mandateId: mandate_id } = proof
    const bought = { amount, currency, resource, merchant_domain, nonce }
    const buyer = {
      ...(offer.category === undefined ? {} : { category: offer.category }),
      agent_id,
      mandate_id,
    }
    switch (collection.outcome) {
      case 'refused': {
        const { reason, howToPay } = collection
        return refused(reason, challengeAnswer(offer, reason, howToPay))
      }
      case 'in progress':
        return unavailable('delivery_in_progress')
      case 'unknown':
        return unavailable('payment_could_not_be_verified', collection.retryAfterMs)
      case 'charged': {
        const { transactionId: transaction_id, delivered, notDelivered, notStarted } = collection
        const receipt = { transaction_id, ...bought }
        const payment = paymentFor({ ...receipt, ...buyer })
        keepPayment(request, payment)
        return {
          outcome: 'paid',
          receipt,
          payment,
          headers: receiptHeaders(receipt),
          redeliversUnfinished: settings.redeliverUnfinished,
          delivered,
          notDelivered,
          notStarted,
        }
      }
      case 'authorized': {
        const { hold } = collection
        const deadline = { capture_deadline: hold.captureDeadline }
        const settlement = settlementOf({ hold, bought, buyer: { ...buyer, ...deadline }, request, settings })
        keepPayment(request, settlement.payment)
        return {
          outcome: 'authorized',
          capture: capture === 'metered' ? 'metered' : 'after',
          redeliversUnfinished: settings.redeliverUnfinished,
          settleWithinMs: settleWithinMs(hold.captureSecondsLeft, settings.captureSeconds),
          ...settlement,
        }
      }
      default:
        return collection satisfies never
    }
  }

  function findTerms({ method, target, rewritten = [], mount, hosts = [] }: AskedFor<Request>) {
    const targets = [target, ...rewritten.filter((one) => one !== undefined)]
    const finding = settings.findTerms({ method, targets, mount })
    // `new URL(protocol + '://' + host + target)` would treat text after these characters as the path.
    if (finding.outcome !== 'free' || !hosts.some((host) => /[/\\?#]/.test(String(host ?? ''))))
      return finding
    return { outcome: 'ambiguous' } as const
  }

  async function priceOf(price: Price<Request>, request: Request): Promise<string | null> {
    const ms = settings.priceTimeout
    const message = `The price was not available after ${ms} ms`
    const wasRead = isRead(request)
    const amount = typeof price === 'function' ? await inTime(price(request), { ms, message }) : price
    if (!wasRead && isRead(request)) {
      throw new TypeError(
        'The price function has read the body, which leaves none for the handler: let it read request.clone()',
      )
    }
    assertPrice(amount)
    return amount
  }
}

/** Whether the body of a Fetch-style request has been read; it can be read only once. */
function isRead(request: unknown): boolean {
  return (request as { readonly bodyUsed?: boolean } | undefined)?.bodyUsed === true
}

/**
 * The time until a deadline, less a tenth, by the service's clock: the merchant's may differ. It is never longer than
 * asked for.
 */
function settleWithinMs(secondsLeft: number, captureSeconds = defaultCaptureSeconds): number {
  return 900 * (secondsLeft < captureSeconds ? secondsLeft : captureSeconds)
}

/** The interface's default. */
const defaultCaptureSeconds = 600

function ambiguousAnswer(): Answer {
  return jsonAnswer(400, {
    error: 'ambiguous_address',
    detail:
      'This URL can be read as more than one path of this server, with different prices. Use the plain path: without encoded letters, dots or doubled slashes, and in the original case.',
  })
}

function refused(reason: RefusalReason, answer: Answer): Decision {
  return { outcome: 'refused', reason, answer }
}

function unavailable(error: string, retryAfterMs?: number): Decision {
  return { outcome: 'unavailable', answer: unavailableAnswer(error, retryAfterMs) }
}

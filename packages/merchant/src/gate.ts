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
import { createCollector } from './collection.ts'
import { assertPrice, readOptions, type PaymentOptions, type Price } from './options.ts'
import { readProofHeader } from './proof-header.ts'
import { isForResource, resourceOf } from './resource.ts'

export type { PaymentClient } from './client.ts'
export type { Answer, Challenge, Receipt, RefusalReason } from './challenge.ts'
export type { Delivery, UnfinishedDeliveries } from './deliveries.ts'
export type { PaymentOptions, Price, Terms } from './options.ts'

/** A request, as every framework can tell it. */
export interface AskedFor<Request> {
  readonly method: string
  /** Path and query as they came. */
  readonly target: string
  /** The header `X-Payment-Proof`. */
  readonly proof: string | readonly string[] | null | undefined
  /** The framework's own request, which a price may be made of. */
  readonly request: Request
}

/** Whether a request gets the goods. Everything but `free` and `paid` comes with the answer to send instead. */
export type Decision =
  | { readonly outcome: 'free' }
  | { readonly outcome: 'challenge'; readonly answer: Answer }
  | { readonly outcome: 'refused'; readonly reason: RefusalReason; readonly answer: Answer }
  | { readonly outcome: 'unavailable'; readonly answer: Answer }
  | Paid

/** The payment stands: the goods go out, once, with these headers. */
export interface Paid {
  readonly outcome: 'paid'
  readonly receipt: Receipt
  readonly headers: Readonly<Record<string, string>>
  /** Says that nothing of the goods went out: the same proof may be shown again, at most twice. */
  readonly notDelivered: () => Promise<void>
}

/** The longest address that the interface lets a proof be for. */
const maxResourceLength = 2083

/** Makes what decides, for each request, whether it is paid. When in doubt it is not. */
export function createPaymentGate<Request>(options: PaymentOptions<Request>) {
  const settings = readOptions(options)
  const collect = createCollector(settings)

  return async ({ method, target, proof: header, request }: AskedFor<Request>): Promise<Decision> => {
    const terms = settings.findTerms(method, target)
    if (terms === undefined) return { outcome: 'free' }
    const resource = resourceOf(settings.publicUrl, target)
    if (resource.length > maxResourceLength) {
      return refused('resource_too_long', jsonAnswer(414, { error: 'resource_too_long' }))
    }
    let amount: string
    try {
      amount = await priceOf(terms.price, request)
    } catch (error) {
      settings.onError(error)
      return unavailable('price_could_not_be_determined')
    }
    const { merchantDomain: merchant_domain } = settings
    const { category } = terms
    const offer: Offer = {
      amount,
      resource,
      merchant_domain,
      ...(typeof category === 'string' ? { category } : {}),
    }

    // What HEAD is answered with has no body, and so no goods.
    if (header === undefined || header === null || method === 'HEAD') {
      return { outcome: 'challenge', answer: challengeAnswer(offer) }
    }
    const reading = readProofHeader(String(header))
    if ('fault' in reading) return refused(reading.fault, challengeAnswer(offer, reading.fault))
    const { proof } = reading
    if (!isForResource(proof.resource, resource)) {
      return refused('proof_for_another_resource', challengeAnswer(offer, 'proof_for_another_resource'))
    }
    const collection = await collect(proof, offer, terms.preflight ?? false)
    switch (collection.outcome) {
      case 'refused':
        return refused(collection.reason, challengeAnswer(offer, collection.reason))
      case 'unknown':
        return unavailable('payment_could_not_be_verified', collection.retryAfterMs)
      case 'charged': {
        const { transactionId: transaction_id, notDelivered } = collection
        const { nonce, currency } = proof
        const receipt = { transaction_id, amount, currency, resource, merchant_domain, nonce }
        return { outcome: 'paid', receipt, headers: receiptHeaders(receipt), notDelivered }
      }
      default:
        return collection satisfies never
    }
  }

  async function priceOf(price: Price<Request>, request: Request): Promise<string> {
    const amount = typeof price === 'function' ? await inTime(price(request)) : price
    assertPrice(amount)
    return amount
  }

  function inTime<Value>(value: Value | Promise<Value>): Promise<Value> {
    let timer: ReturnType<typeof setTimeout> | undefined
    const late = new Promise<never>((_, reject) => {
      const error = new Error(`The price was not there after ${settings.priceTimeout} ms`)
      timer = setTimeout(() => reject(error), settings.priceTimeout)
    })
    return Promise.race([value, late]).finally(() => clearTimeout(timer))
  }
}

function refused(reason: RefusalReason, answer: Answer): Decision {
  return { outcome: 'refused', reason, answer }
}

function unavailable(error: string, retryAfterMs?: number): Decision {
  return { outcome: 'unavailable', answer: unavailableAnswer(error, retryAfterMs) }
}

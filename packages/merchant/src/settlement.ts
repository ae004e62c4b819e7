import {
  challengeAnswer,
  jsonAnswer,
  receiptHeaders,
  unavailableAnswer,
  voidedHeaders,
  type Answer,
  type Offer,
  type Receipt,
} from './challenge.ts'
import type { Hold } from './deliveries/hold.ts'
import { microOf } from './micro-amounts.ts'
import { assertPrice, isFree, type HandlerResponse } from './options.ts'
import { paymentFor, type Payment } from './payment.ts'

/** The outcome of a handler's response. */
export type Settlement =
  /** Charged: send the response with these headers. */
  | {
      readonly outcome: 'captured'
      readonly receipt: Receipt
      readonly headers: Readonly<Record<string, string>>
    }
  /** Nothing is charged for this response: send it with these headers. */
  | { readonly outcome: 'voided'; readonly headers: Readonly<Record<string, string>> }
  /** It could not be charged: send this instead. */
  | { readonly outcome: 'withheld'; readonly answer: Answer }

export type Settle = (response: HandlerResponse) => Promise<Settlement>

interface SettlementFacts<Request> {
  readonly hold: Hold
  readonly bought: Omit<Receipt, 'transaction_id'>
  readonly buyer: Pick<Payment, 'agent_id' | 'mandate_id' | 'category' | 'capture_deadline'>
  readonly request: Request
  readonly settings: {
    readonly shouldCapture: (response: HandlerResponse, request: Request) => boolean | Promise<boolean>
    readonly onError: (error: unknown) => void
  }
}

/** The payment of a handler whose response decides about the charge, and how to settle it, once. */
export function settlementOf<Request>({ hold, bought, buyer, request, settings }: SettlementFacts<Request>) {
  const { shouldCapture, onError } = settings
  const { amount, resource, merchant_domain, nonce } = bought
  const offer: Offer = {
    amount,
    resource,
    merchant_domain,
    ...(buyer.category === undefined ? {} : { category: buyer.category }),
  }
  let metered: string | undefined
  let settling: Promise<Settlement> | undefined
  let voiding: Promise<boolean> | undefined

  function meter(asked: string): boolean {
    assertPrice(asked)
    if (settling || voiding) return false
    const soFar = asked ?? '0'
    metered = microOf(soFar) < microOf(amount) ? soFar : amount
    return true
  }

  const seen: Writable<Omit<Payment, 'meter'>> = { transaction_id: undefined, ...bought, ...buyer }
  const payment = paymentFor(seen, meter)

  async function settle(response: HandlerResponse): Promise<Settlement> {
    if (voiding) return release()
    try {
      if (!(await shouldCapture(response, request))) return await release()
    } catch (error) {
      onError(error)
      await release()
      return { outcome: 'withheld', answer: jsonAnswer(500, { error: 'capture_could_not_be_decided' }) }
    }
    if (metered !== undefined && isFree(metered)) return release()
    const capture = await hold.capture(metered)
    switch (capture.outcome) {
      case 'captured': {
        seen.transaction_id = capture.transactionId
        const receipt = { transaction_id: capture.transactionId, ...bought, amount: capture.amount }
        return { outcome: 'captured', receipt, headers: receiptHeaders(receipt) }
      }
      case 'refused': {
        const { reason, howToPay } = capture
        return { outcome: 'withheld', answer: challengeAnswer(offer, reason, howToPay) }
      }
      case 'in progress':
        return { outcome: 'withheld', answer: unavailableAnswer('delivery_in_progress') }
      case 'unknown': {
        const answer = unavailableAnswer('payment_could_not_be_verified', capture.retryAfterMs)
        return { outcome: 'withheld', answer }
      }
      default:
        return capture satisfies never
    }
  }

  /** A voided payment stays voided. */
  const voidOnce = () => (voiding ??= hold.void())

  async function release(): Promise<Settlement> {
    return { outcome: 'voided', headers: (await voidOnce()) ? voidedHeaders(nonce) : {} }
  }

  return {
    payment,
    settle: (response: HandlerResponse) => (settling ??= settle(response)),
    void: voidOnce,
    delivered: hold.delivered,
    notDelivered: hold.notDelivered,
    notStarted: hold.notStarted,
  }
}

type Writable<Type> = { -readonly [Name in keyof Type]: Type[Name] }

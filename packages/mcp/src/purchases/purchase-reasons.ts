import type { ApprovalReference } from '@purser/client'

import type { Reason } from '../reason.ts'
import { chargedWithinMs, type Bill, type PurchaseRecord } from './purchase-records.ts'

/**
 * The reasons that a purchase can end with after its proof was issued. None may lead to paying twice: once a proof
 * was charged, or while it can be, each remedy starts with a warning against another purchase id.
 */

/** A proof that may still be charged. */
export interface OpenPayment {
  readonly bill: Bill
  /** When it can no longer be charged, ISO 8601. */
  readonly until: string
}

/** A proof was sent, and the service reports it as open. */
export function stillOpen(why: Omit<Reason, 'remedy'>, open: OpenPayment): Reason {
  return {
    ...why,
    remedy: `${warning(open)} Call again with the same arguments to check or retry: it uses the same payment.`,
  }
}

/** The merchant answered a proof without delivering, but has authorized it, or it could not be voided. */
export const refused = {
  reason_code: 'merchant_refused_payment',
  reason_detail: 'The merchant did not deliver for the payment, but it still has it and can charge it.',
}

/** The merchant reported that it could not verify the proof. */
export const cannotVerify = {
  reason_code: 'merchant_cannot_verify_now',
  reason_detail: 'The merchant could not verify the payment; it can still charge it.',
}

export const notCharged = {
  reason_code: 'not_charged_yet',
  reason_detail: 'The merchant has the payment and has not charged it yet.',
}

/** The service cannot be reached. */
export function fateUnknown(open: OpenPayment): Reason {
  return stillOpen(
    {
      reason_code: 'service_unavailable',
      reason_detail: 'The payment service cannot currently tell whether the payment was charged.',
    },
    open,
  )
}

/** A process that has ended sent the proof; no other process can send it again. */
export function sentByAnother({ begunAt }: PurchaseRecord, open: OpenPayment): Reason {
  return {
    reason_code: 'payment_under_way',
    reason_detail: `A payment with this purchase_id was started at ${begunAt} by a process that has ended.`,
    remedy: `${warning(open)} Call again with the same arguments after ${open.until}.`,
  }
}

/** When a payment can no longer be charged, if the service cannot be reached to ask for its own end. */
export function latestEnd({ begunAt }: PurchaseRecord): string {
  return new Date(Date.parse(begunAt) + chargedWithinMs).toISOString()
}

function warning({ bill, until }: OpenPayment): string {
  return (
    `Do not buy the same thing elsewhere or with another purchase_id: ` +
    `${bill.amount} ${bill.currency} may still be charged until ${until}, and you would pay twice.`
  )
}

/** The purchase id belongs to another order, whose proof may still be charged. */
export function idInUseByOpen(open: OpenPayment): Reason {
  return {
    reason_code: 'purchase_id_in_use',
    reason_detail: `This purchase_id belongs to a call with other arguments, ${whatFor(open.bill)}, that may still be charged; nothing was bought by this call.`,
    remedy: `${warning(open)} Repeat the earlier arguments to check whether it was charged. If it was not, from ${open.until} on this purchase_id can be used with other arguments.`,
  }
}

/** The purchase id belongs to another order that is complete. */
export function idInUseByDone({ bill, settled }: PurchaseRecord): Reason {
  const { transactionId = null } = settled ?? {}
  const what =
    bill && transactionId !== null
      ? `${whatFor(bill)}, transaction ${transactionId}`
      : 'for which nothing was charged'
  return {
    reason_code: 'purchase_id_in_use',
    reason_detail: `This purchase_id belongs to a call with other arguments that succeeded (${what}); nothing was bought by this call.`,
    remedy:
      'Do not buy the same thing again with another purchase_id. To see the earlier result, repeat the earlier ' +
      'arguments. A purchase of something else needs its own purchase_id.',
  }
}

/** A call with the same purchase id and other arguments is still running. */
export const idInUseNow: Reason = {
  reason_code: 'purchase_id_in_use',
  reason_detail:
    'Another call with this purchase_id and other arguments is running; nothing was bought by this call.',
  remedy:
    'Do not buy the same thing with another purchase_id. Wait for the result of the other call, and follow it.',
}

function whatFor({ amount, currency, merchant_domain: seller }: Bill): string {
  return `${amount} ${currency} to ${seller}`
}

/** The proof expired or was voided before it was charged. */
export const paymentEnded: Reason = {
  reason_code: 'payment_ended',
  reason_detail: 'The payment ended without being charged, and can no longer be charged.',
  remedy: 'To try again, call with the same purchase_id.',
}

/** The merchant answered a proof without delivering, and the proof has ended. */
export const paymentRefused: Reason = {
  reason_code: 'merchant_refused_payment',
  reason_detail: 'The merchant did not deliver for the payment, which was not charged, and can no longer be.',
  remedy:
    "Read the merchant's answer: it may ask for another price or have moved. To try again, call with the same " +
    'purchase_id, or buy elsewhere.',
}

export function answerLost(transactionId: string | null): Reason {
  return {
    reason_code: 'answer_lost',
    reason_detail: "The payment was charged, but the merchant's answer did not arrive.",
    remedy: `${neverAgain(transactionId)} For five minutes after it was paid, call again with the same arguments to request the goods with the same payment.`,
  }
}

export function notDelivered(transactionId: string | null): Reason {
  return {
    reason_code: 'paid_not_delivered',
    reason_detail: 'The payment was charged, but the merchant did not deliver; see response for its answer.',
    remedy: `${neverAgain(transactionId)} For five minutes after it was paid, call again with the same arguments to request the goods with the same payment.`,
  }
}

/** The purchase was paid earlier; its goods were delivered then, or are lost. */
export function notKept({ bill, settled, isDelivered = false }: PurchaseRecord): Reason {
  if (settled?.transactionId != null && !isDelivered) {
    return {
      reason_code: 'delivery_unknown',
      reason_detail: 'This purchase was paid before, and no delivery of its goods is on record.',
      remedy: neverAgain(settled.transactionId),
    }
  }
  return {
    reason_code: 'response_not_kept',
    reason_detail: "This purchase was made before; the merchant's answer is no longer stored.",
    remedy: bill
      ? settled?.transactionId == null
        ? 'The merchant delivered and charged nothing. If the goods are lost, tell the person you work for; another purchase_id may be charged.'
        : neverAgain(settled.transactionId)
      : 'Do not send it again with another purchase_id: the merchant has accepted it.',
  }
}

function neverAgain(transactionId: string | null): string {
  return (
    'Do not buy it again, either elsewhere or with another purchase_id: it is paid. If the goods are missing, tell ' +
    `the person you work for; the merchant can find the purchase by its transaction ${transactionId}.`
  )
}

export const tooMany: Reason = {
  reason_code: 'too_many_purchases_at_once',
  reason_detail: 'Too many purchases are running.',
  remedy: 'Wait until some of them have finished, then call again.',
}

/** A payment that needs an approval that has not been given. */
export function needsApproval(detail: string, { status, expires_at, url }: ApprovalReference): Reason {
  const remedy =
    status === 'denied'
      ? 'Do not retry or buy the same thing in another way, unless the person you work for tells you to.'
      : `Nothing was charged. Tell the person you work for: an owner or an approver must approve this at ${url} until ${expires_at}. ` +
        'Once they have, call again with the same arguments. Do not split the purchase to get around it.'
  return { reason_code: 'approval_required', reason_detail: detail, remedy }
}

import type { Reason } from '../reason.ts'
import type { Bill, PurchaseRecord } from './purchase-records.ts'

/**
 * Every reason that a purchase can end with after its proof was made. None of them may lead to paying twice: while a
 * proof can be charged, and once it was, each remedy begins by warning of another purchase id.
 */

/** What is known of a proof that may still be charged. */
export interface OpenPayment {
  readonly bill: Bill
  /** From when on it can no longer be charged, ISO 8601. */
  readonly until: string
}

/** A proof was shown, and the service says that it is still open. */
export function stillOpen(why: Omit<Reason, 'remedy'>, open: OpenPayment): Reason {
  return {
    ...why,
    remedy: `${warning(open)} Call again with the same arguments to find out, or to try again: the same payment is used.`,
  }
}

/** The merchant answered 402 to a proof. What it said is in the quoted challenge. */
export const refused = {
  reason_code: 'merchant_refused_payment',
  reason_detail: 'The merchant did not accept the payment, but it has it and can still charge it.',
}

/** The merchant said that it could not have the proof verified. */
export const cannotVerify = {
  reason_code: 'merchant_cannot_verify_now',
  reason_detail: 'The merchant could not have the payment verified now; it can still charge it.',
}

export const notCharged = {
  reason_code: 'not_charged_yet',
  reason_detail: 'The merchant has the payment and has not charged it so far.',
}

/** The service cannot be asked now. */
export function fateUnknown(open: OpenPayment): Reason {
  return stillOpen(
    {
      reason_code: 'service_unavailable',
      reason_detail: 'The payment service cannot say now whether the payment was charged.',
    },
    open,
  )
}

/** A process that is gone has shown the proof, and only it could show it again. */
export function sentByAnother({ begunAt }: PurchaseRecord, open: OpenPayment): Reason {
  return {
    reason_code: 'payment_under_way',
    reason_detail: `A payment with this purchase_id was begun at ${begunAt} by a process that is gone.`,
    remedy: `${warning(open)} Call again with the same arguments after ${open.until}.`,
  }
}

/** From when on the proof of a purchase cannot be charged, when the service cannot be asked. */
export function latestEnd({ begunAt }: PurchaseRecord): string {
  return new Date(Date.parse(begunAt) + holdLifeMs).toISOString()
}

/** How long a proof can be charged at most (decision 0005). */
const holdLifeMs = 6 * 60_000

function warning({ bill, until }: OpenPayment): string {
  return (
    `Do not buy the same thing elsewhere or with another purchase_id: ` +
    `${bill.amount} ${bill.currency} may still be charged until ${until}, and you would pay twice.`
  )
}

/** The purchase id belongs to another order whose proof may still be charged. */
export function idInUseByOpen(open: OpenPayment): Reason {
  return {
    reason_code: 'purchase_id_in_use',
    reason_detail: `This purchase_id belongs to a call with other arguments, ${whatFor(open.bill)}, that may still be charged; nothing was bought by this call.`,
    remedy: `${warning(open)} Repeat the earlier arguments to find out whether it was charged. From ${open.until} on, if it was not, this purchase_id can be used with other arguments.`,
  }
}

/** The purchase id belongs to another order that is done. */
export function idInUseByDone({ bill, settled }: PurchaseRecord): Reason {
  const what = bill
    ? `${whatFor(bill)}, transaction ${settled?.transactionId}`
    : 'for which nothing had to be paid'
  return {
    reason_code: 'purchase_id_in_use',
    reason_detail: `This purchase_id belongs to a call with other arguments that succeeded (${what}); nothing was bought by this call.`,
    remedy:
      'Do not buy the same thing again with another purchase_id. To see the earlier result, repeat the earlier ' +
      'arguments. A purchase of something else needs a purchase_id of its own.',
  }
}

/** A call with the same purchase id and other arguments has not ended yet. */
export const idInUseNow: Reason = {
  reason_code: 'purchase_id_in_use',
  reason_detail:
    'Another call with this purchase_id and other arguments is under way; nothing was bought by this call.',
  remedy:
    'Do not buy the same thing with another purchase_id. Wait for the result of the other call, and follow it.',
}

function whatFor({ amount, currency, merchant_domain: seller }: Bill): string {
  return `${amount} ${currency} to ${seller}`
}

/** The proof expired or was voided before anybody charged it. */
export const paymentEnded: Reason = {
  reason_code: 'payment_ended',
  reason_detail: 'The payment ended without being charged, and cannot be charged any more.',
  remedy: 'To try again, call with the same purchase_id.',
}

export function answerLost(transactionId: string | null): Reason {
  return {
    reason_code: 'answer_lost',
    reason_detail: "The payment was charged, but the merchant's answer did not arrive.",
    remedy: `${neverAgain(transactionId)} For five minutes after it was paid, calling again with the same arguments asks for the goods with the same payment.`,
  }
}

export function notDelivered(transactionId: string | null): Reason {
  return {
    reason_code: 'paid_not_delivered',
    reason_detail: 'The payment was charged, but the merchant did not deliver; response is what it answered.',
    remedy: `${neverAgain(transactionId)} For five minutes after it was paid, calling again with the same arguments asks for the goods with the same payment.`,
  }
}

/** A purchase that was paid before; the goods were handed over then, or are lost. */
export function notKept({ bill, settled }: PurchaseRecord): Reason {
  return {
    reason_code: 'response_not_kept',
    reason_detail: 'This purchase was made before; what the merchant answered then is no longer kept.',
    remedy: bill
      ? neverAgain(settled?.transactionId ?? null)
      : 'Do not send it again with another purchase_id: the merchant has accepted it.',
  }
}

function neverAgain(transactionId: string | null): string {
  return (
    'Do not buy it again, neither elsewhere nor with another purchase_id: it is paid. If the goods are missing, tell ' +
    `the person you work for; the merchant can find the purchase by its transaction ${transactionId}.`
  )
}

export const tooMany: Reason = {
  reason_code: 'too_many_purchases_at_once',
  reason_detail: 'As many purchases as can be made at once are under way already.',
  remedy: 'Wait until some of them have ended, then call again.',
}

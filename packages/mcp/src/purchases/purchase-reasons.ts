import type { Reason } from '../reason.ts'
import type { Bill, PurchaseRecord } from './purchase-records.ts'

/** The purchase id belongs to another order. */
export function idInUse(bill: Bill | null): Reason {
  const before = bill ? ` (${bill.amount} ${bill.currency} for ${bill.resource_url})` : ''
  return {
    reason_code: 'purchase_id_in_use',
    reason_detail: `This purchase_id belongs to another purchase${before}; nothing was bought by this call.`,
    remedy: 'For the earlier purchase, repeat its arguments. For a new purchase, choose a new purchase_id.',
  }
}

/** A process that is gone has shown the proof, and only it could show it again. */
export function sentByAnother({ begunAt }: PurchaseRecord): Reason {
  const overAt = new Date(Date.parse(begunAt) + holdLifeMs).toISOString()
  return {
    reason_code: 'payment_under_way',
    reason_detail: `A payment with this purchase_id was begun at ${begunAt} and may still be charged until ${overAt}.`,
    remedy: `Call again with the same arguments after ${overAt}. Do not use another purchase_id for the same purchase.`,
  }
}

/** How long a proof can be charged at the most (decision 10). */
const holdLifeMs = 6 * 60_000

/** The merchant has neither charged the proof nor refused it. */
export function notCharged(state: 'open' | 'over'): Reason {
  return {
    reason_code: 'not_charged_yet',
    reason_detail:
      state === 'open'
        ? 'The merchant has the payment and has not charged it so far; it can for some minutes.'
        : 'The payment ended without being charged.',
    remedy:
      'To try again, call with the same arguments: the same payment is used, so it is charged once at most.',
  }
}

/** The service does not answer. */
export const fateUnknown: Reason = {
  reason_code: 'service_unavailable',
  reason_detail: 'The payment service cannot say now whether the payment was charged.',
  remedy: 'Call again with the same arguments to find out; it is never charged twice.',
}

export const answerLost: Reason = {
  reason_code: 'answer_lost',
  reason_detail: "The payment was charged, but the merchant's answer did not arrive.",
  remedy:
    'Do not pay again. Tell the person you work for; the merchant can find the purchase by its transaction_id.',
}

export const notKept: Reason = {
  reason_code: 'response_not_kept',
  reason_detail: 'This purchase was made before; what the merchant answered then is no longer kept.',
  remedy: 'Nothing was charged by this call. To buy the same once more, choose a new purchase_id.',
}

export const tooMany: Reason = {
  reason_code: 'too_many_purchases_at_once',
  reason_detail: 'As many purchases as can be made at once are under way already.',
  remedy: 'Wait until some of them have ended, then call again.',
}

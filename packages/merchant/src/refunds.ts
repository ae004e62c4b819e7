import type { Purser } from '@purser/client'

import type { PaymentClient } from './client.ts'

export interface RefundOptions {
  /** Why, in at most 500 characters; the buyer sees it. */
  readonly reason?: string
  /** Your own key for this refund: a retry with the same key refunds once. Default: a new key for each call. */
  readonly idempotencyKey?: string
}

/**
 * Refunds a payment that this merchant has collected, in full or in part; resolves to the refund, a transaction with the
 * status `refunded`. The amount is USDC as a string, such as `'1.50'`; all refunds together are at most the payment;
 * otherwise rejects with a `ConflictError` with the code `refund_exceeds_payment`.
 *
 * @example
 * const sell = requirePayment({ client, merchantDomain, price: '4.00' }, handler)
 * await sell.refund(transactionId, '1.50', { reason: 'rows were missing', idempotencyKey: 'return-17' })
 */
export type Refund = (
  transactionId: string,
  amount: string,
  options?: RefundOptions,
) => ReturnType<Purser['transactions']['refund']>

/** The function that refunds with a client. */
export function refunds({ transactions }: PaymentClient): Refund {
  return async (transactionId, amount, { reason, idempotencyKey } = {}) => {
    if (!transactions) throw new TypeError('A refund needs a client with the method transactions.refund')
    const body = reason === undefined ? { amount } : { amount, reason }
    return transactions.refund(transactionId, body, idempotencyKey === undefined ? {} : { idempotencyKey })
  }
}

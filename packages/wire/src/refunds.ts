import { Type } from './schema/type.ts'

import { endpoint } from './endpoint.ts'
import { described, Id, PaymentAmount, Text, noOtherFields } from './fields.ts'
import { maxLengths } from './lengths.ts'
import { ownerRoles } from './roles.ts'
import { Transaction } from './transactions.ts'

export const RefundRequest = Type.Object(
  {
    amount: described(
      PaymentAmount,
      'Amount to refund in USDC, as decimal text. The refunds of a payment never exceed its charge.',
    ),
    reason: Type.Optional(
      Text(maxLengths.refundReason, {
        description: 'Why it is refunded, for the records of both accounts.',
        examples: ['Out of stock'],
      }),
    ),
  },
  noOtherFields,
)

export const refundTransaction = endpoint({
  id: 'refundTransaction',
  method: 'POST',
  path: '/v1/transactions/{transaction_id}/refund',
  tag: 'Transactions',
  summary:
    'Refunds a payment, in full or in part, for the seller that collected it. The mandate may spend the amount again. An `Idempotency-Key` is required.',
  roles: [...ownerRoles, 'merchant'],
  params: Type.Object({ transaction_id: described(Id, 'Id of the payment.') }),
  body: RefundRequest,
  responses: { 201: Transaction },
  responseDescriptions: {
    201: 'The refund, a separate transaction, made now or by the first request with this `Idempotency-Key`.',
  },
  errors: [
    'idempotency_key_required',
    'invalid_idempotency_key',
    'not_found',
    'seller_not_yours',
    'not_refundable',
    'idempotency_key_reused',
    'refund_exceeds_payment',
    'too_many_refunds',
  ],
  errorDescriptions: {
    seller_not_yours: 'another account collected the payment',
    idempotency_key_reused: 'your account used the Idempotency-Key for another refund of this payment',
    store_unavailable:
      'the store is unavailable; nothing was refunded unless a retry with the same Idempotency-Key says so',
  },
})

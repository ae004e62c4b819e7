import { Type, type Static } from 'typebox'

import { roles } from './api-keys.ts'
import { endpoint } from './endpoint.ts'
import { Id, Nullable, OneOf, Timestamp, Usdc } from './fields.ts'
import { pageParameters } from './pages.ts'
import { denialCodes } from './policy.ts'

export const transactionStatuses = ['pending', 'approved', 'denied', 'paid'] as const
export type TransactionStatus = (typeof transactionStatuses)[number]

export const Transaction = Type.Object({
  id: Id,
  status: OneOf(transactionStatuses),
  agent_id: Id,
  mandate_id: Id,
  amount: Type.String(),
  currency: Usdc,
  resource_url: Type.String(),
  merchant_domain: Type.String(),
  seller_id: Nullable(Id),
  category: Nullable(Type.String()),
  reason_code: Nullable(OneOf(['within_policy', ...denialCodes])),
  reason_detail: Nullable(Type.String()),
  created_at: Timestamp,
})
export type Transaction = Static<typeof Transaction>

export const listTransactions = endpoint({
  id: 'listTransactions',
  method: 'GET',
  path: '/v1/transactions',
  tag: 'Transactions',
  summary: 'Lists transactions, newest first.',
  roles,
  query: Type.Object({
    ...pageParameters,
    agent_id: Type.Optional(Type.String()),
    mandate_id: Type.Optional(Type.String()),
    status: Type.Optional(OneOf(transactionStatuses)),
    merchant_domain: Type.Optional(Type.String()),
  }),
  responses: { 200: Type.Array(Transaction) },
  errors: [],
})

export const getTransaction = endpoint({
  id: 'getTransaction',
  method: 'GET',
  path: '/v1/transactions/{transaction_id}',
  tag: 'Transactions',
  summary: 'One transaction.',
  roles,
  params: Type.Object({ transaction_id: Type.String() }),
  responses: { 200: Transaction },
  errors: ['not_found'],
})

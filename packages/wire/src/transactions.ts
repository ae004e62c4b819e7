import { Type, type Static } from './schema/type.ts'

import { roles } from './roles.ts'
import { endpoint } from './endpoint.ts'
import {
  AmountText,
  Category,
  described,
  Domain,
  Id,
  Metadata,
  MetadataFilter,
  Nullable,
  OneOf,
  ReasonDetail,
  Text,
  Timestamp,
  Usdc,
} from './fields.ts'
import { PageOf, pageParameters } from './pages.ts'
import { ReasonCode } from './policy.ts'
import { maxLengths } from './lengths.ts'

export const transactionStatuses = ['pending', 'approved', 'denied', 'paid', 'refunded'] as const
export type TransactionStatus = (typeof transactionStatuses)[number]
export const TransactionStatus = OneOf(transactionStatuses)

export const Transaction = Type.Object({
  id: described(Id, 'Id of the transaction.'),
  status: described(
    TransactionStatus,
    '`paid`: a verified payment. `refunded`: a refund of one, in full or in part. `approved` or `denied`: a decision of evaluate, which charges nothing.',
  ),
  agent_id: described(Id, 'Agent that pays or would pay.'),
  mandate_id: described(Id, 'Mandate that it pays or would pay from.'),
  amount: described(AmountText, 'Amount in USDC, as decimal text, as requested.'),
  currency: Usdc,
  resource_url: Text(maxLengths.url, { description: 'URL of the purchased resource.' }),
  merchant_domain: described(Domain, 'Domain of the seller, as provided.'),
  seller_id: described(Nullable(Id), 'Seller registered under the domain; null if there is none.'),
  category: described(Nullable(Category), 'Category of the payment; null if there was none.'),
  reason_code: described(Nullable(ReasonCode), 'Why the decision was made; null for a payment.'),
  reason_detail: described(
    Nullable(ReasonDetail),
    'For a denial the requested amount, the limit, and what would help; for a refund the reason that the seller gave; otherwise null.',
  ),
  order_id: described(
    Nullable(Text(maxLengths.orderId)),
    'Order that it pays, or whose payment it refunds; null for none.',
  ),
  refund_of: described(Nullable(Id), 'The payment that was refunded; null unless this is a refund.'),
  refunded_total: described(
    Nullable(AmountText),
    'What has been refunded of a payment so far, in USDC, `0.00` for nothing; null unless its status is `paid`.',
  ),
  created_at: described(Timestamp, 'When the payment, the refund or the decision was made.'),
  mandate_version: described(
    Nullable(Type.Integer({ minimum: 1 })),
    'Number of the version of the mandate that the proof was issued under, or that was evaluated; null if the mandate is unknown.',
  ),
  metadata: described(
    Metadata,
    'Texts that were provided with the proof or the evaluation, by name; empty if there are none, and for payments received from another account.',
  ),
})
export type Transaction = Static<typeof Transaction>

/** The filters of a list of transactions. */
export const TransactionsQuery = Type.Object({
  agent_id: Type.Optional(described(Id, 'Only transactions of this agent.')),
  mandate_id: Type.Optional(
    described(Id, 'Only transactions under this mandate, without requests of other agents.'),
  ),
  status: Type.Optional(described(TransactionStatus, 'Only transactions with this status.')),
  merchant_domain: Type.Optional(described(Domain, 'Only transactions with this domain.')),
  created_from: Type.Optional(
    Type.String({
      format: 'date-time',
      maxLength: maxLengths.timestamp,
      description: 'Only transactions at or after this time, with a time zone.',
    }),
  ),
  created_to: Type.Optional(
    Type.String({
      format: 'date-time',
      maxLength: maxLengths.timestamp,
      description: 'Only transactions before this time, with a time zone.',
    }),
  ),
  metadata: Type.Optional(MetadataFilter),
})
export type TransactionsQuery = Static<typeof TransactionsQuery>

export const listTransactions = endpoint({
  id: 'listTransactions',
  method: 'GET',
  path: '/v1/transactions',
  tag: 'Transactions',
  summary:
    'Lists transactions, newest first. A page may have fewer items than requested although `Link` has a next page.',
  roles,
  query: Type.Object({ ...pageParameters, ...TransactionsQuery.properties }),
  responses: { 200: PageOf(Transaction) },
  responseDescriptions: {
    200: "A page of transactions. An agent's key sees those of its agent; a merchant's key sees payments to sellers of its account.",
  },
  errors: [],
})

/** The columns of the CSV, in order. */
export const csvColumns = Object.keys(Transaction.properties) as (keyof Transaction)[]

export const downloadTransactions = endpoint({
  id: 'downloadTransactions',
  method: 'GET',
  path: '/v1/transactions.csv',
  tag: 'Transactions',
  summary:
    'Streams every matching transaction that the key may see, newest first, as CSV (RFC 4180). For a merchant key these are its sales. If the export fails midway, the stream is aborted.',
  roles,
  query: TransactionsQuery,
  produces: 'text/csv',
  responses: { 200: Type.String() },
  responseDescriptions: { 200: 'The file: a header line, then one line per transaction.' },
  errors: ['too_many_streams'],
})

export const getTransaction = endpoint({
  id: 'getTransaction',
  method: 'GET',
  path: '/v1/transactions/{transaction_id}',
  tag: 'Transactions',
  summary: 'One transaction.',
  roles,
  params: Type.Object({ transaction_id: described(Id, 'Id of the transaction.') }),
  responses: { 200: Transaction },
  responseDescriptions: { 200: 'The transaction.' },
  errors: ['not_found'],
})

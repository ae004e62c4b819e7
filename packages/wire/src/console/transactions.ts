import { Type, type Static } from '../schema/type.ts'

import { readerRoles } from '../roles.ts'
import { endpoint } from '../endpoint.ts'
import {
  AmountText,
  described,
  Domain,
  Environment,
  Id,
  MetadataFilter,
  Name,
  Nullable,
  OneOf,
  Purpose,
  Sum,
  Text,
  Timestamp,
} from '../fields.ts'
import { Limits, LimitWindow, RefusingBudget, RefusingLimit } from '../limits/limits.ts'
import { PageOf, pageParameters } from '../pages.ts'
import { ProofRecord } from '../payments.ts'
import { ReasonCode } from '../policy.ts'
import { csvColumns, Transaction, TransactionStatus } from '../transactions.ts'
import { maxItems, maxLengths } from '../lengths.ts'

/** Activity of the account's agents, or payments its sellers received from agents of other accounts. */
const directions = ['sent', 'received'] as const
export const Direction = OneOf(directions)

/** A transaction with display names, null if they belong to another account or are unknown. */
export const NamedTransaction = Type.Object({
  ...Transaction.properties,
  agent_name: described(
    Nullable(Name),
    'Name of the agent; null if it belongs to another account or does not exist.',
  ),
  mandate_purpose: described(
    Nullable(Purpose),
    'Purpose of the mandate; null if it belongs to another account or does not exist.',
  ),
  seller_name: described(
    Nullable(Name),
    'Name of the seller; null if it belongs to another account or is not registered.',
  ),
})
export type NamedTransaction = Static<typeof NamedTransaction>

const filters = {
  agent_id: Type.Optional(described(Id, 'Only transactions of this agent.')),
  mandate_id: Type.Optional(
    described(Id, 'Only transactions under this mandate, without requests of other agents.'),
  ),
  status: Type.Optional(described(TransactionStatus, 'Only transactions with this status.')),
  merchant_domain: Type.Optional(described(Domain, 'Only transactions with this domain.')),
  direction: Type.Optional(
    described(
      Direction,
      '`sent`: only transactions by agents of this account. `received`: only by agents of other accounts.',
    ),
  ),
  reason_code: Type.Optional(described(ReasonCode, 'Only decisions with this reason.')),
  created_from: Type.Optional(
    Type.String({
      format: 'date-time',
      maxLength: maxLengths.timestamp,
      description: 'Only transactions at or after this time, with a time zone.',
    }),
  ),
  created_before: Type.Optional(
    Type.String({
      format: 'date-time',
      maxLength: maxLengths.timestamp,
      description: 'Only transactions before this time, with a time zone.',
    }),
  ),
  metadata: Type.Optional(MetadataFilter),
}

export const listConsoleTransactions = endpoint({
  id: 'listConsoleTransactions',
  method: 'GET',
  path: '/v1/console/transactions',
  tag: 'Console',
  summary:
    'Lists transactions, newest first. A page may have fewer items than requested although `Link` has a next page.',
  roles: readerRoles,
  query: Type.Object({ ...pageParameters, ...filters }),
  responses: { 200: PageOf(NamedTransaction) },
  responseDescriptions: { 200: 'A page of transactions.' },
  errors: ['query_too_slow'],
})

/** The columns of the export, in order: those of a transaction, with each name next to its id. */
export const namedCsvColumns = csvColumns.flatMap((column): (keyof NamedTransaction)[] =>
  column === 'agent_id'
    ? [column, 'agent_name']
    : column === 'mandate_id'
      ? [column, 'mandate_purpose']
      : column === 'seller_id'
        ? [column, 'seller_name']
        : [column],
)

export const exportTransactions = endpoint({
  id: 'exportTransactions',
  method: 'GET',
  path: '/v1/console/transactions.csv',
  tag: 'Console',
  summary:
    'Streams every matching transaction, newest first, as CSV (RFC 4180). If the export fails midway, the stream is aborted.',
  roles: readerRoles,
  query: Type.Object({
    environment: Type.Optional(
      described(
        Environment,
        'Same as the header `X-Purser-Environment`, for links, which cannot set headers.',
      ),
    ),
    account_id: Type.Optional(
      Text(maxLengths.id, {
        description:
          'The account whose transactions the caller expects: 403 `insufficient_scope` if the key or session is of another one, because the browser has signed in to another account since.',
      }),
    ),
    ...filters,
  }),
  produces: 'text/csv',
  responses: { 200: Type.String() },
  responseDescriptions: { 200: 'The file: a header line, then one line per transaction.' },
  errors: ['too_many_streams', 'query_too_slow'],
})

/** What each policy check asks, in order: the nine of the interface (Policy checks), and our own between and after them. */
export const checkNames = [
  'agent_exists',
  'agent_active',
  'mandate_exists',
  'mandate_active',
  'mandate_not_expired',
  'seller_allowed',
  'resource_allowed',
  'category_allowed',
  'within_transaction_limit',
  'within_total_budget',
  'within_limits',
  'within_shared_budgets',
  'approved_by_person',
] as const
export const CheckName = OneOf(checkNames)

/**
 * The result of a check. `not_reached`: an earlier one failed. `not_asked`: not part of this kind of
 * decision. `unknown`: recorded by a release that did not store enough to tell.
 */
export const checkStates = ['passed', 'failed', 'not_reached', 'not_asked', 'unknown'] as const
export const CheckState = OneOf(checkStates)

/** How the value of a check compares with its limits. */
export const checkRelations = ['before', 'not_before', 'in', 'not_in', 'at_most', 'above'] as const
export const CheckRelation = OneOf(checkRelations)

/** The limit that failed a check. */
const CheckedLimit = Type.Object(
  { ...RefusingLimit.properties, window: described(LimitWindow, 'When it counts.') },
  { title: 'CheckedLimit', description: 'The limit that refuses the payment; only for a failed check.' },
)

export const PolicyCheck = Type.Object({
  check: Type.Integer({
    minimum: 1,
    maximum: 12,
    description: 'Number of the check, in order; checks that share a number differ in `label`.',
  }),
  label: Text(maxLengths.word, { description: 'Number of the check as it is shown, such as `6` or `6a`.' }),
  name: described(CheckName, 'What the check asks.'),
  state: described(
    CheckState,
    'Result of the check. `not_reached`: an earlier one failed. `not_asked`: not part of this kind of decision. `unknown`: not recorded.',
  ),
  value: Text(maxLengths.message, {
    description: 'What was checked, such as `api.example.com` or `4.20 + 6.00`; may be empty.',
  }),
  relation: described(
    Nullable(CheckRelation),
    'How `value` compares with `limits`: `before` or `not_before` a time, `in` or `not_in` a list, `at_most` or `above` an amount. Null if nothing was compared.',
  ),
  limits: Type.Array(Text(maxLengths.message), {
    maxItems: maxItems.sellers,
    description: 'What the mandate allows: a time, an amount or a list; empty if nothing was compared.',
  }),
  checked_limits: Type.Optional(
    described(Limits, 'The limits over time that were checked; only for `within_limits`.'),
  ),
  limit: Type.Optional(CheckedLimit),
  budget: Type.Optional(RefusingBudget),
})
export type PolicyCheck = Static<typeof PolicyCheck>

export const PaymentRefund = Type.Object({
  id: described(Id, 'Id of the refund, a separate transaction.'),
  amount: described(AmountText, 'Refunded amount in USDC, as decimal text.'),
  reason: described(
    Nullable(Text(maxLengths.refundReason)),
    'Why it was refunded; null if nothing was said.',
  ),
  created_at: described(Timestamp, 'When it was refunded.'),
})

export const TransactionDetail = Type.Object({
  transaction: described(Transaction, 'The transaction itself.'),
  agent_name: described(
    Nullable(Name),
    'Name of the agent; null if it belongs to another account or does not exist.',
  ),
  mandate_purpose: described(
    Nullable(Purpose),
    'Purpose of the mandate; null if it belongs to another account or does not exist.',
  ),
  checked_at: described(
    Nullable(Timestamp),
    'When the checks were run: for a payment, when its proof was issued. Null if `checks` is empty.',
  ),
  checks: Type.Array(PolicyCheck, {
    maxItems: checkNames.length,
    description:
      'The nine checks in order, with those that the mandate adds; empty for payments received from another account.',
  }),
  proof: described(
    Nullable(ProofRecord),
    "Proof of the payment; null for a decision, and for another account's proof.",
  ),
  refunds: Type.Array(PaymentRefund, {
    maxItems: maxItems.refunds,
    description: 'Refunds of the payment, oldest first; empty for anything else.',
  }),
  refundable: described(
    Nullable(Sum),
    'What is left of the payment to refund, if this account has collected it; null otherwise.',
  ),
})
export type TransactionDetail = Static<typeof TransactionDetail>

export const getConsoleTransaction = endpoint({
  id: 'getConsoleTransaction',
  method: 'GET',
  path: '/v1/console/transactions/{transaction_id}',
  tag: 'Console',
  summary: 'Returns a transaction with its policy checks, the compared values, its proof, and its refunds.',
  roles: readerRoles,
  params: Type.Object({ transaction_id: described(Id, 'Id of the transaction.') }),
  responses: { 200: TransactionDetail },
  responseDescriptions: { 200: 'The transaction.' },
  errors: ['not_found', 'query_too_slow'],
})

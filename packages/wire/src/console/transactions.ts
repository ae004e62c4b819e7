import { Type, type Static } from 'typebox'

import { ownerRoles } from '../roles.ts'
import { endpoint } from '../endpoint.ts'
import {
  described,
  Domain,
  Environment,
  Id,
  Name,
  Nullable,
  OneOf,
  Purpose,
  Text,
  Timestamp,
} from '../fields.ts'
import { PageOf, pageParameters } from '../pages.ts'
import { ProofRecord } from '../payments.ts'
import { ReasonCode } from '../policy.ts'
import { csvColumns, Transaction, TransactionStatus } from '../transactions.ts'
import { maxLengths } from '../lengths.ts'

/** Payments and decisions of own agents, or what own sellers received from agents of other accounts. */
const directions = ['sent', 'received'] as const
export const Direction = OneOf(directions)

/** A transaction with the names of what it is about; null where they are another account's, or not known. */
export const NamedTransaction = Type.Object({
  ...Transaction.properties,
  agent_name: described(
    Nullable(Name),
    "Name of the agent; null when it is another account's, or does not exist.",
  ),
  mandate_purpose: described(
    Nullable(Purpose),
    "Purpose of the mandate; null when it is another account's, or does not exist.",
  ),
  seller_name: described(
    Nullable(Name),
    "Name of the seller; null when it is another account's, or not registered.",
  ),
})
export type NamedTransaction = Static<typeof NamedTransaction>

const filters = {
  agent_id: Type.Optional(described(Id, 'Only those of this agent.')),
  mandate_id: Type.Optional(described(Id, 'Only those under this mandate.')),
  status: Type.Optional(described(TransactionStatus, 'Only those with this status.')),
  merchant_domain: Type.Optional(described(Domain, 'Only those with this domain.')),
  direction: Type.Optional(
    described(
      Direction,
      '`sent`: only those of agents of this account. `received`: only those of agents of other accounts.',
    ),
  ),
  reason_code: Type.Optional(described(ReasonCode, 'Only decisions with this reason.')),
  created_from: Type.Optional(
    Type.String({
      format: 'date-time',
      maxLength: maxLengths.timestamp,
      description: 'Only those made at or after this time, which has a zone.',
    }),
  ),
  created_before: Type.Optional(
    Type.String({
      format: 'date-time',
      maxLength: maxLengths.timestamp,
      description: 'Only those made before this time, which has a zone.',
    }),
  ),
}

export const listConsoleTransactions = endpoint({
  id: 'listConsoleTransactions',
  method: 'GET',
  path: '/v1/console/transactions',
  tag: 'Console',
  summary:
    'Transactions, newest first. A page may hold fewer than asked for while `Link` still names a next one.',
  roles: ownerRoles,
  query: Type.Object({ ...pageParameters, ...filters }),
  responses: { 200: PageOf(NamedTransaction) },
  responseDescriptions: { 200: 'A page of transactions.' },
  errors: ['query_too_slow'],
})

/** The columns of the export, in their order: those of a transaction, with each name beside its id. */
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
    'Every transaction that fits, newest first, as CSV (RFC 4180), streamed. A stream that could not be finished breaks off without its end.',
  roles: ownerRoles,
  query: Type.Object({
    environment: Type.Optional(
      described(Environment, 'As the header `X-Purser-Environment`, for a link, which cannot set one.'),
    ),
    ...filters,
  }),
  produces: 'text/csv',
  responses: { 200: Type.String() },
  responseDescriptions: { 200: 'The file: a line of column names, then one for each transaction.' },
  errors: ['too_many_streams', 'query_too_slow'],
})

/** What each of the nine policy checks asks, in their order (Policy checks). */
export const checkNames = [
  'agent_exists',
  'agent_active',
  'mandate_exists',
  'mandate_active',
  'mandate_not_expired',
  'seller_allowed',
  'category_allowed',
  'within_transaction_limit',
  'within_total_budget',
] as const
export const CheckName = OneOf(checkNames)

/**
 * What came of a check. `not_reached`: an earlier one failed. `not_asked`: this kind of decision does not ask
 * it. `unknown`: the decision was recorded by a release that did not keep what it would take to tell.
 */
export const checkStates = ['passed', 'failed', 'not_reached', 'not_asked', 'unknown'] as const
export const CheckState = OneOf(checkStates)

export const PolicyCheck = Type.Object({
  check: Type.Integer({ minimum: 1, maximum: 9, description: 'Number of the check, in their order.' }),
  name: described(CheckName, 'What the check asks.'),
  state: described(
    CheckState,
    'What came of it. `not_reached`: an earlier one failed. `not_asked`: this kind of decision does not ask it. `unknown`: it was not recorded.',
  ),
  values: Text(maxLengths.message, {
    description: 'The values that were compared, such as `4.20 + 6.00 > 10.00`; may be empty.',
  }),
})
export type PolicyCheck = Static<typeof PolicyCheck>

export const TransactionDetail = Type.Object({
  transaction: described(Transaction, 'The transaction itself.'),
  agent_name: described(
    Nullable(Name),
    "Name of the agent; null when it is another account's, or does not exist.",
  ),
  mandate_purpose: described(
    Nullable(Purpose),
    "Purpose of the mandate; null when it is another account's, or does not exist.",
  ),
  checked_at: described(
    Nullable(Timestamp),
    'When the checks were made: for a payment, when its proof was issued. Null when `checks` is empty.',
  ),
  checks: Type.Array(PolicyCheck, {
    maxItems: checkNames.length,
    description:
      'The nine checks in order; empty for what was received from another account, whose mandate is its own.',
  }),
  proof: described(
    Nullable(ProofRecord),
    "Proof that the payment captured; null for a decision, and for another account's.",
  ),
})
export type TransactionDetail = Static<typeof TransactionDetail>

export const getConsoleTransaction = endpoint({
  id: 'getConsoleTransaction',
  method: 'GET',
  path: '/v1/console/transactions/{transaction_id}',
  tag: 'Console',
  summary: 'One transaction with the nine checks, the values that they compared, and its proof.',
  roles: ownerRoles,
  params: Type.Object({ transaction_id: described(Id, 'Id of the transaction.') }),
  responses: { 200: TransactionDetail },
  responseDescriptions: { 200: 'The transaction.' },
  errors: ['not_found', 'query_too_slow'],
})

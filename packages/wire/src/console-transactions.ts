import { Type, type Static } from 'typebox'

import { ownerRoles } from './api-keys.ts'
import { endpoint } from './endpoint.ts'
import { environments, Nullable, OneOf, Timestamp } from './fields.ts'
import { pageParameters } from './pages.ts'
import { ProofRecord } from './payments.ts'
import { denialCodes } from './policy.ts'
import { Transaction, transactionStatuses } from './transactions.ts'

const filters = {
  agent_id: Type.Optional(Type.String()),
  mandate_id: Type.Optional(Type.String()),
  status: Type.Optional(OneOf(transactionStatuses)),
  merchant_domain: Type.Optional(Type.String()),
  reason_code: Type.Optional(OneOf(['within_policy', ...denialCodes])),
  created_from: Type.Optional(Type.String({ format: 'date-time', description: 'At or after.' })),
  created_before: Type.Optional(Type.String({ format: 'date-time', description: 'Before.' })),
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
  responses: { 200: Type.Array(Transaction) },
  errors: ['query_too_slow'],
})

/** The columns of the export, in their order: those of a transaction. */
export const csvColumns = Object.keys(Transaction.properties) as (keyof Transaction)[]

export const exportTransactions = endpoint({
  id: 'exportTransactions',
  method: 'GET',
  path: '/v1/console/transactions.csv',
  tag: 'Console',
  summary:
    'Every transaction that fits, newest first, as CSV (RFC 4180), streamed. A stream that could not be finished breaks off without its end.',
  roles: ownerRoles,
  query: Type.Object({ environment: Type.Optional(OneOf(environments)), ...filters }),
  produces: 'text/csv',
  responses: { 200: Type.String() },
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

/**
 * What came of a check. `not_reached`: an earlier one failed. `not_asked`: this kind of decision does not ask
 * it. `unknown`: the decision was recorded by a release that did not keep what it would take to tell.
 */
export const checkStates = ['passed', 'failed', 'not_reached', 'not_asked', 'unknown'] as const

export const PolicyCheck = Type.Object({
  check: Type.Integer({ minimum: 1, maximum: 9 }),
  name: OneOf(checkNames),
  state: OneOf(checkStates),
  values: Type.String({ description: 'The values that were compared, such as `4.20 + 6.00 > 10.00`.' }),
})
export type PolicyCheck = Static<typeof PolicyCheck>

export const TransactionDetail = Type.Object({
  transaction: Transaction,
  agent_name: Nullable(Type.String()),
  mandate_purpose: Nullable(Type.String()),
  /** When the checks were made: for a payment, when its proof was issued. */
  checked_at: Nullable(Timestamp),
  /** The nine checks in order; empty for what was received from another account, whose mandate is its own. */
  checks: Type.Array(PolicyCheck),
  /** The proof that a payment captured. */
  proof: Nullable(ProofRecord),
})
export type TransactionDetail = Static<typeof TransactionDetail>

export const getConsoleTransaction = endpoint({
  id: 'getConsoleTransaction',
  method: 'GET',
  path: '/v1/console/transactions/{transaction_id}',
  tag: 'Console',
  summary: 'One transaction with the nine checks, the values that they compared, and its proof.',
  roles: ownerRoles,
  params: Type.Object({ transaction_id: Type.String() }),
  responses: { 200: TransactionDetail },
  errors: ['not_found', 'query_too_slow'],
})

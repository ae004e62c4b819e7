// Made from packages/wire by `npm run client-types`; a test compares.
import type * as accounts from '@purser/wire/accounts'
import type * as agents from '@purser/wire/agents'
import type * as apiKeys from '@purser/wire/api-keys'
import type * as auditLog from '@purser/wire/audit-log'
import type * as errors from '@purser/wire/errors'
import type * as mandates from '@purser/wire/mandates'
import type * as pages from '@purser/wire/pages'
import type * as payments from '@purser/wire/payments'
import type * as policy from '@purser/wire/policy'
import type * as sellers from '@purser/wire/sellers'
import type * as transactions from '@purser/wire/transactions'
import type * as verifyAgent from '@purser/wire/verify-agent'
import type { Static } from 'typebox'

import type * as client from '../../packages/client/src/wire-types.ts'

/** True when each of the two can stand for the other. */
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false

/** Does not compile when a type of the client is not that of its schema. */
export const sameTypes: {
  Account: Same<client.Account, Static<NonNullable<typeof accounts.Account>>>
  CreatedAccount: Same<client.CreatedAccount, Static<NonNullable<typeof accounts.CreatedAccount>>>
  NewAccount: Same<client.NewAccount, Static<NonNullable<typeof accounts.NewAccount>>>
  Agent: Same<client.Agent, Static<NonNullable<typeof agents.Agent>>>
  NewAgent: Same<client.NewAgent, Static<NonNullable<typeof agents.NewAgent>>>
  ApiKey: Same<client.ApiKey, Static<NonNullable<typeof apiKeys.ApiKey>>>
  IssuedApiKey: Same<client.IssuedApiKey, Static<NonNullable<typeof apiKeys.IssuedApiKey>>>
  NewApiKey: Same<client.NewApiKey, Static<NonNullable<typeof apiKeys.NewApiKey>>>
  AuditEvent: Same<client.AuditEvent, Static<NonNullable<typeof auditLog.AuditEvent>>>
  ListAuditEventsQuery: Same<
    client.ListAuditEventsQuery,
    Static<NonNullable<(typeof auditLog.listAuditEvents)['query']>>
  >
  ErrorBody: Same<client.ErrorBody, Static<NonNullable<typeof errors.ErrorBody>>>
  ValidationErrorBody: Same<
    client.ValidationErrorBody,
    Static<NonNullable<typeof errors.ValidationErrorBody>>
  >
  ValidationItem: Same<client.ValidationItem, Static<NonNullable<typeof errors.ValidationItem>>>
  Mandate: Same<client.Mandate, Static<NonNullable<typeof mandates.Mandate>>>
  NewMandate: Same<client.NewMandate, Static<NonNullable<typeof mandates.NewMandate>>>
  PageQuery: Same<client.PageQuery, Static<NonNullable<typeof pages.PageQuery>>>
  NotVerified: Same<client.NotVerified, Static<NonNullable<typeof payments.NotVerified>>>
  Proof: Same<client.Proof, Static<NonNullable<typeof payments.Proof>>>
  ProofDenial: Same<client.ProofDenial, Static<NonNullable<typeof payments.ProofDenial>>>
  ProofRecord: Same<client.ProofRecord, Static<NonNullable<typeof payments.ProofRecord>>>
  ProofRequest: Same<client.ProofRequest, Static<NonNullable<typeof payments.ProofRequest>>>
  Verified: Same<client.Verified, Static<NonNullable<typeof payments.Verified>>>
  VerifyRequest: Same<client.VerifyRequest, Static<NonNullable<typeof payments.VerifyRequest>>>
  Approval: Same<client.Approval, Static<NonNullable<typeof policy.Approval>>>
  Denial: Same<client.Denial, Static<NonNullable<typeof policy.Denial>>>
  ProposedPayment: Same<client.ProposedPayment, Static<NonNullable<typeof policy.ProposedPayment>>>
  NewSeller: Same<client.NewSeller, Static<NonNullable<typeof sellers.NewSeller>>>
  Seller: Same<client.Seller, Static<NonNullable<typeof sellers.Seller>>>
  Transaction: Same<client.Transaction, Static<NonNullable<typeof transactions.Transaction>>>
  ListTransactionsQuery: Same<
    client.ListTransactionsQuery,
    Static<NonNullable<(typeof transactions.listTransactions)['query']>>
  >
  AgentReport: Same<client.AgentReport, Static<NonNullable<typeof verifyAgent.AgentReport>>>
} = {
  Account: true,
  CreatedAccount: true,
  NewAccount: true,
  Agent: true,
  NewAgent: true,
  ApiKey: true,
  IssuedApiKey: true,
  NewApiKey: true,
  AuditEvent: true,
  ListAuditEventsQuery: true,
  ErrorBody: true,
  ValidationErrorBody: true,
  ValidationItem: true,
  Mandate: true,
  NewMandate: true,
  PageQuery: true,
  NotVerified: true,
  Proof: true,
  ProofDenial: true,
  ProofRecord: true,
  ProofRequest: true,
  Verified: true,
  VerifyRequest: true,
  Approval: true,
  Denial: true,
  ProposedPayment: true,
  NewSeller: true,
  Seller: true,
  Transaction: true,
  ListTransactionsQuery: true,
  AgentReport: true,
}

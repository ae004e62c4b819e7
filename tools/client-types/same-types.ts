// Generated from packages/wire by `npm run client-types`; a test compares them.
import type * as accountingJournal from '@purser/wire/accounting/journal'
import type * as accountingSettlements from '@purser/wire/accounting/settlements'
import type * as accounts from '@purser/wire/accounts'
import type * as agents from '@purser/wire/agents'
import type * as apiKeys from '@purser/wire/api-keys'
import type * as approvals from '@purser/wire/approvals'
import type * as auditLog from '@purser/wire/audit-log'
import type * as authorizations from '@purser/wire/authorizations'
import type * as consoleAgents from '@purser/wire/console/agents'
import type * as consoleApiKeys from '@purser/wire/console/api-keys'
import type * as consoleFeed from '@purser/wire/console/feed'
import type * as consoleMandates from '@purser/wire/console/mandates'
import type * as consoleOverview from '@purser/wire/console/overview'
import type * as consoleSearch from '@purser/wire/console/search'
import type * as consoleSellers from '@purser/wire/console/sellers'
import type * as consoleSession from '@purser/wire/console/session'
import type * as consoleSpending from '@purser/wire/console/spending'
import type * as consoleStatus from '@purser/wire/console/status'
import type * as consoleStop from '@purser/wire/console/stop'
import type * as consoleSystem from '@purser/wire/console/system'
import type * as consoleTransactions from '@purser/wire/console/transactions'
import type * as errors from '@purser/wire/errors'
import type * as limitsBudgets from '@purser/wire/limits/budgets'
import type * as limitsLimits from '@purser/wire/limits/limits'
import type * as limitsTestClock from '@purser/wire/limits/test-clock'
import type * as mandates from '@purser/wire/mandates'
import type * as mandatesBacktests from '@purser/wire/mandates/backtests'
import type * as pages from '@purser/wire/pages'
import type * as payments from '@purser/wire/payments'
import type * as policy from '@purser/wire/policy'
import type * as refunds from '@purser/wire/refunds'
import type * as sellers from '@purser/wire/sellers'
import type * as sessions from '@purser/wire/sessions'
import type * as transactions from '@purser/wire/transactions'
import type * as verifyAgent from '@purser/wire/verify-agent'
import type { Static } from '@purser/wire/schema/type'

import type * as client from '../../packages/client/src/wire-types.ts'

/** True if each type is assignable to the other. */
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false

type AllTrue<Checks extends Readonly<Record<string, true>>> = Checks

/** Does not compile if a type of the client differs from its schema. */
export type SameTypes = AllTrue<{
  JournalLine: Same<client.JournalLine, Static<NonNullable<typeof accountingJournal.JournalLine>>>
  JournalQuery: Same<client.JournalQuery, Static<NonNullable<typeof accountingJournal.JournalQuery>>>
  Settlement: Same<client.Settlement, Static<NonNullable<typeof accountingSettlements.Settlement>>>
  SettlementDay: Same<client.SettlementDay, Static<NonNullable<typeof accountingSettlements.SettlementDay>>>
  GetSettlementsQuery: Same<
    client.GetSettlementsQuery,
    Static<NonNullable<(typeof accountingSettlements.getSettlements)['query']>>
  >
  Account: Same<client.Account, Static<NonNullable<typeof accounts.Account>>>
  CreatedAccount: Same<client.CreatedAccount, Static<NonNullable<typeof accounts.CreatedAccount>>>
  NewAccount: Same<client.NewAccount, Static<NonNullable<typeof accounts.NewAccount>>>
  Agent: Same<client.Agent, Static<NonNullable<typeof agents.Agent>>>
  AgentChanges: Same<client.AgentChanges, Static<NonNullable<typeof agents.AgentChanges>>>
  NewAgent: Same<client.NewAgent, Static<NonNullable<typeof agents.NewAgent>>>
  ApiKey: Same<client.ApiKey, Static<NonNullable<typeof apiKeys.ApiKey>>>
  IssuedApiKey: Same<client.IssuedApiKey, Static<NonNullable<typeof apiKeys.IssuedApiKey>>>
  NewApiKey: Same<client.NewApiKey, Static<NonNullable<typeof apiKeys.NewApiKey>>>
  ListApiKeysQuery: Same<client.ListApiKeysQuery, Static<NonNullable<(typeof apiKeys.listApiKeys)['query']>>>
  RevokeApiKeyQuery: Same<
    client.RevokeApiKeyQuery,
    Static<NonNullable<(typeof apiKeys.revokeApiKey)['query']>>
  >
  ApprovalNote: Same<client.ApprovalNote, Static<NonNullable<typeof approvals.ApprovalNote>>>
  ApprovalReference: Same<client.ApprovalReference, Static<NonNullable<typeof approvals.ApprovalReference>>>
  ApprovalRequest: Same<client.ApprovalRequest, Static<NonNullable<typeof approvals.ApprovalRequest>>>
  IncreaseRequest: Same<client.IncreaseRequest, Static<NonNullable<typeof approvals.IncreaseRequest>>>
  IncreasedTerms: Same<client.IncreasedTerms, Static<NonNullable<typeof approvals.IncreasedTerms>>>
  ListApprovalsQuery: Same<
    client.ListApprovalsQuery,
    Static<NonNullable<(typeof approvals.listApprovals)['query']>>
  >
  AuditEvent: Same<client.AuditEvent, Static<NonNullable<typeof auditLog.AuditEvent>>>
  ListAuditEventsQuery: Same<
    client.ListAuditEventsQuery,
    Static<NonNullable<(typeof auditLog.listAuditEvents)['query']>>
  >
  Authorization: Same<client.Authorization, Static<NonNullable<typeof authorizations.Authorization>>>
  AuthorizeRequest: Same<client.AuthorizeRequest, Static<NonNullable<typeof authorizations.AuthorizeRequest>>>
  Authorized: Same<client.Authorized, Static<NonNullable<typeof authorizations.Authorized>>>
  CaptureRequest: Same<client.CaptureRequest, Static<NonNullable<typeof authorizations.CaptureRequest>>>
  Captured: Same<client.Captured, Static<NonNullable<typeof authorizations.Captured>>>
  NotAuthorized: Same<client.NotAuthorized, Static<NonNullable<typeof authorizations.NotAuthorized>>>
  AgentSummary: Same<client.AgentSummary, Static<NonNullable<typeof consoleAgents.AgentSummary>>>
  ListConsoleAgentsQuery: Same<
    client.ListConsoleAgentsQuery,
    Static<NonNullable<(typeof consoleAgents.listConsoleAgents)['query']>>
  >
  ListedApiKey: Same<client.ListedApiKey, Static<NonNullable<typeof consoleApiKeys.ListedApiKey>>>
  ListConsoleApiKeysQuery: Same<
    client.ListConsoleApiKeysQuery,
    Static<NonNullable<(typeof consoleApiKeys.listConsoleApiKeys)['query']>>
  >
  FeedEvent: Same<client.FeedEvent, Static<NonNullable<typeof consoleFeed.FeedEvent>>>
  StreamTransactionsQuery: Same<
    client.StreamTransactionsQuery,
    Static<NonNullable<(typeof consoleFeed.streamTransactions)['query']>>
  >
  ListedMandate: Same<client.ListedMandate, Static<NonNullable<typeof consoleMandates.ListedMandate>>>
  MandateDetail: Same<client.MandateDetail, Static<NonNullable<typeof consoleMandates.MandateDetail>>>
  MandateSpend: Same<client.MandateSpend, Static<NonNullable<typeof consoleMandates.MandateSpend>>>
  GetMandateSpendQuery: Same<
    client.GetMandateSpendQuery,
    Static<NonNullable<(typeof consoleMandates.getMandateSpend)['query']>>
  >
  ListConsoleMandatesQuery: Same<
    client.ListConsoleMandatesQuery,
    Static<NonNullable<(typeof consoleMandates.listConsoleMandates)['query']>>
  >
  Activity: Same<client.Activity, Static<NonNullable<typeof consoleOverview.Activity>>>
  Checklist: Same<client.Checklist, Static<NonNullable<typeof consoleOverview.Checklist>>>
  NearBudget: Same<client.NearBudget, Static<NonNullable<typeof consoleOverview.NearBudget>>>
  Overview: Same<client.Overview, Static<NonNullable<typeof consoleOverview.Overview>>>
  GetOverviewQuery: Same<
    client.GetOverviewQuery,
    Static<NonNullable<(typeof consoleOverview.getOverview)['query']>>
  >
  Found: Same<client.Found, Static<NonNullable<typeof consoleSearch.Found>>>
  SearchConsoleQuery: Same<
    client.SearchConsoleQuery,
    Static<NonNullable<(typeof consoleSearch.searchConsole)['query']>>
  >
  SellerSummary: Same<client.SellerSummary, Static<NonNullable<typeof consoleSellers.SellerSummary>>>
  ListConsoleSellersQuery: Same<
    client.ListConsoleSellersQuery,
    Static<NonNullable<(typeof consoleSellers.listConsoleSellers)['query']>>
  >
  NewSession: Same<client.NewSession, Static<NonNullable<typeof consoleSession.NewSession>>>
  Session: Same<client.Session, Static<NonNullable<typeof consoleSession.Session>>>
  SignInOptions: Same<client.SignInOptions, Static<NonNullable<typeof consoleSession.SignInOptions>>>
  Spending: Same<client.Spending, Static<NonNullable<typeof consoleSpending.Spending>>>
  SpendingBucket: Same<client.SpendingBucket, Static<NonNullable<typeof consoleSpending.SpendingBucket>>>
  SpendingPart: Same<client.SpendingPart, Static<NonNullable<typeof consoleSpending.SpendingPart>>>
  SpendingSplit: Same<client.SpendingSplit, Static<NonNullable<typeof consoleSpending.SpendingSplit>>>
  GetSpendingQuery: Same<
    client.GetSpendingQuery,
    Static<NonNullable<(typeof consoleSpending.getSpending)['query']>>
  >
  ConsoleStatus: Same<client.ConsoleStatus, Static<NonNullable<typeof consoleStatus.ConsoleStatus>>>
  Resumed: Same<client.Resumed, Static<NonNullable<typeof consoleStop.Resumed>>>
  Stopped: Same<client.Stopped, Static<NonNullable<typeof consoleStop.Stopped>>>
  System: Same<client.System, Static<NonNullable<typeof consoleSystem.System>>>
  NamedTransaction: Same<
    client.NamedTransaction,
    Static<NonNullable<typeof consoleTransactions.NamedTransaction>>
  >
  PaymentRefund: Same<client.PaymentRefund, Static<NonNullable<typeof consoleTransactions.PaymentRefund>>>
  PolicyCheck: Same<client.PolicyCheck, Static<NonNullable<typeof consoleTransactions.PolicyCheck>>>
  TransactionDetail: Same<
    client.TransactionDetail,
    Static<NonNullable<typeof consoleTransactions.TransactionDetail>>
  >
  ExportTransactionsQuery: Same<
    client.ExportTransactionsQuery,
    Static<NonNullable<(typeof consoleTransactions.exportTransactions)['query']>>
  >
  ListConsoleTransactionsQuery: Same<
    client.ListConsoleTransactionsQuery,
    Static<NonNullable<(typeof consoleTransactions.listConsoleTransactions)['query']>>
  >
  ErrorBody: Same<client.ErrorBody, Static<NonNullable<typeof errors.ErrorBody>>>
  ValidationErrorBody: Same<
    client.ValidationErrorBody,
    Static<NonNullable<typeof errors.ValidationErrorBody>>
  >
  ValidationItem: Same<client.ValidationItem, Static<NonNullable<typeof errors.ValidationItem>>>
  Budget: Same<client.Budget, Static<NonNullable<typeof limitsBudgets.Budget>>>
  BudgetChange: Same<client.BudgetChange, Static<NonNullable<typeof limitsBudgets.BudgetChange>>>
  LimitBelowCommitted: Same<
    client.LimitBelowCommitted,
    Static<NonNullable<typeof limitsBudgets.LimitBelowCommitted>>
  >
  NewBudget: Same<client.NewBudget, Static<NonNullable<typeof limitsBudgets.NewBudget>>>
  Limit: Same<client.Limit, Static<NonNullable<typeof limitsLimits.Limit>>>
  LimitUsage: Same<client.LimitUsage, Static<NonNullable<typeof limitsLimits.LimitUsage>>>
  NewLimit: Same<client.NewLimit, Static<NonNullable<typeof limitsLimits.NewLimit>>>
  TestClock: Same<client.TestClock, Static<NonNullable<typeof limitsTestClock.TestClock>>>
  TestClockAdvance: Same<
    client.TestClockAdvance,
    Static<NonNullable<typeof limitsTestClock.TestClockAdvance>>
  >
  ApprovalTerms: Same<client.ApprovalTerms, Static<NonNullable<typeof mandates.ApprovalTerms>>>
  BelowCommitted: Same<client.BelowCommitted, Static<NonNullable<typeof mandates.BelowCommitted>>>
  Mandate: Same<client.Mandate, Static<NonNullable<typeof mandates.Mandate>>>
  MandateAmendment: Same<client.MandateAmendment, Static<NonNullable<typeof mandates.MandateAmendment>>>
  MandateVersion: Same<client.MandateVersion, Static<NonNullable<typeof mandates.MandateVersion>>>
  NewMandate: Same<client.NewMandate, Static<NonNullable<typeof mandates.NewMandate>>>
  ListMandatesQuery: Same<
    client.ListMandatesQuery,
    Static<NonNullable<(typeof mandates.listMandates)['query']>>
  >
  Backtest: Same<client.Backtest, Static<NonNullable<typeof mandatesBacktests.Backtest>>>
  BacktestCheck: Same<client.BacktestCheck, Static<NonNullable<typeof mandatesBacktests.BacktestCheck>>>
  BacktestDecision: Same<
    client.BacktestDecision,
    Static<NonNullable<typeof mandatesBacktests.BacktestDecision>>
  >
  BacktestExample: Same<client.BacktestExample, Static<NonNullable<typeof mandatesBacktests.BacktestExample>>>
  BacktestFlips: Same<client.BacktestFlips, Static<NonNullable<typeof mandatesBacktests.BacktestFlips>>>
  BacktestRequest: Same<client.BacktestRequest, Static<NonNullable<typeof mandatesBacktests.BacktestRequest>>>
  MandateDraft: Same<client.MandateDraft, Static<NonNullable<typeof mandatesBacktests.MandateDraft>>>
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
  EvaluateRequest: Same<client.EvaluateRequest, Static<NonNullable<typeof policy.EvaluateRequest>>>
  ProposedPayment: Same<client.ProposedPayment, Static<NonNullable<typeof policy.ProposedPayment>>>
  RefundRequest: Same<client.RefundRequest, Static<NonNullable<typeof refunds.RefundRequest>>>
  NewSeller: Same<client.NewSeller, Static<NonNullable<typeof sellers.NewSeller>>>
  ReleasedDomain: Same<client.ReleasedDomain, Static<NonNullable<typeof sellers.ReleasedDomain>>>
  Seller: Same<client.Seller, Static<NonNullable<typeof sellers.Seller>>>
  SellerVerification: Same<client.SellerVerification, Static<NonNullable<typeof sellers.SellerVerification>>>
  AccountSession: Same<client.AccountSession, Static<NonNullable<typeof sessions.AccountSession>>>
  EndSessionOfAccountQuery: Same<
    client.EndSessionOfAccountQuery,
    Static<NonNullable<(typeof sessions.endSessionOfAccount)['query']>>
  >
  ListSessionsQuery: Same<
    client.ListSessionsQuery,
    Static<NonNullable<(typeof sessions.listSessions)['query']>>
  >
  Transaction: Same<client.Transaction, Static<NonNullable<typeof transactions.Transaction>>>
  TransactionsQuery: Same<
    client.TransactionsQuery,
    Static<NonNullable<typeof transactions.TransactionsQuery>>
  >
  ListTransactionsQuery: Same<
    client.ListTransactionsQuery,
    Static<NonNullable<(typeof transactions.listTransactions)['query']>>
  >
  AgentReport: Same<client.AgentReport, Static<NonNullable<typeof verifyAgent.AgentReport>>>
}>

import { createAccount, disableAccount, enableAccount, getAccount, listAccounts } from './accounts.ts'
import { createAgent, getAgent, listAgents, revokeAgent, updateAgent } from './agents.ts'
import { createApiKey, listApiKeys, revokeApiKey } from './api-keys.ts'
import { approveRequest, denyRequest, getApproval, listApprovals, requestIncrease } from './approvals.ts'
import { listAuditEvents } from './audit-log.ts'
import { backtestMandate } from './mandates/backtests.ts'
import { authorize, capture, voidAuthorization } from './authorizations.ts'
import {
  changeBudget,
  createBudget,
  freezeBudget,
  getBudget,
  listBudgets,
  unfreezeBudget,
} from './limits/budgets.ts'
import { advanceTestClock, getTestClock } from './limits/test-clock.ts'
import { getConsoleAgent, listConsoleAgents } from './console/agents.ts'
import { listConsoleApiKeys } from './console/api-keys.ts'
import { streamTransactions } from './console/feed.ts'
import { getConsoleMandate, getMandateSpend, listConsoleMandates } from './console/mandates.ts'
import { getOverview } from './console/overview.ts'
import { getSpending } from './console/spending.ts'
import { searchConsole } from './console/search.ts'
import { listConsoleSellers } from './console/sellers.ts'
import { endSession, getSession, getSignInOptions, startSession } from './console/session.ts'
import { getConsoleStatus } from './console/status.ts'
import { resumeAgents, stopAgents } from './console/stop.ts'
import { getSystem } from './console/system.ts'
import { exportTransactions, getConsoleTransaction, listConsoleTransactions } from './console/transactions.ts'
import type { Endpoint } from './endpoint.ts'
import { healthz, readyz } from './health.ts'
import {
  amendMandate,
  createMandate,
  getMandate,
  listMandateVersions,
  listMandates,
  pauseMandate,
  resumeMandate,
  revokeMandate,
} from './mandates.ts'
import { getProof, issueProof, verify, voidProof } from './payments.ts'
import { evaluate } from './policy.ts'
import { refundTransaction } from './refunds.ts'
import { downloadJournal } from './accounting/journal.ts'
import { getSettlements } from './accounting/settlements.ts'
import { createSeller, getSellerVerification, listSellers, releaseDomain, verifySeller } from './sellers.ts'
import { endSessionOfAccount, listSessions } from './sessions.ts'
import { downloadTransactions, getTransaction, listTransactions } from './transactions.ts'
import { verifyAgent } from './verify-agent.ts'

/** The version that the interface description carries (Versioning, rule 1). */
export const interfaceVersion = '0.1.0'

/** Every endpoint of the interface. */
export const endpoints = [
  createAccount,
  listAccounts,
  getAccount,
  disableAccount,
  enableAccount,
  createApiKey,
  listApiKeys,
  revokeApiKey,
  listSessions,
  endSessionOfAccount,
  createAgent,
  listAgents,
  getAgent,
  updateAgent,
  revokeAgent,
  createMandate,
  listMandates,
  getMandate,
  amendMandate,
  listMandateVersions,
  backtestMandate,
  pauseMandate,
  resumeMandate,
  revokeMandate,
  requestIncrease,
  listApprovals,
  getApproval,
  approveRequest,
  denyRequest,
  createBudget,
  listBudgets,
  getBudget,
  changeBudget,
  freezeBudget,
  unfreezeBudget,
  createSeller,
  listSellers,
  releaseDomain,
  getTestClock,
  advanceTestClock,
  getSettlements,
  getSellerVerification,
  verifySeller,
  issueProof,
  verify,
  getProof,
  voidProof,
  authorize,
  capture,
  voidAuthorization,
  evaluate,
  verifyAgent,
  listTransactions,
  downloadTransactions,
  getTransaction,
  refundTransaction,
  downloadJournal,
  listAuditEvents,
  healthz,
  readyz,
  getSignInOptions,
  startSession,
  getSession,
  endSession,
  getOverview,
  getSpending,
  getConsoleStatus,
  streamTransactions,
  stopAgents,
  resumeAgents,
  listConsoleMandates,
  getConsoleMandate,
  getMandateSpend,
  listConsoleTransactions,
  exportTransactions,
  getConsoleTransaction,
  listConsoleAgents,
  getConsoleAgent,
  listConsoleSellers,
  listConsoleApiKeys,
  searchConsole,
  getSystem,
] as unknown as readonly Endpoint[]

/** What a retry with the same `Idempotency-Key` returns, by endpoint. */
export const retries: Readonly<Record<string, string>> = {
  issueProof:
    'the same request with the same key, by the same API key, returns the same proof again, with `Idempotent-Replayed: true`; another request with that key gets 422 `idempotency_key_reused`. A denied request does not use up the key.',
  verify:
    'the same proof with the same key, by the same API key, returns the first response again, with `Idempotent-Replayed: true`.',
  authorize:
    'the same proof with the same key, by the same API key, returns the authorization again, with `Idempotent-Replayed: true`.',
  refundTransaction:
    'the same refund with the same key, by any API key of the account, returns the first response again, with `Idempotent-Replayed: true`; another refund of the payment with that key gets 422 `idempotency_key_reused`. The header is required.',
  capture:
    'the same amount with the same key, by the same API key, returns the first response again, with `Idempotent-Replayed: true`.',
  createMandate:
    'the same request with the same key, by any API key of the account, returns the mandate that the first one created, with `Idempotent-Replayed: true`; another request with that key gets 422 `idempotency_key_reused`. A refused request does not use up the key.',
  createBudget:
    'the same request with the same key, by any API key of the account, returns the budget that the first one created, with `Idempotent-Replayed: true`; another request with that key gets 422 `idempotency_key_reused`. A refused request does not use up the key.',
  stopAgents:
    'a stop with the same key, in the same account and environment, is the same stop: it pauses mandates that are active again, and returns the same `stop_id` with the totals of the stop.',
}

// Longer than 400 lines: the port of the store is one interface, which both drivers implement.
import type { AccountStatus } from '@purser/wire/accounts'
import type { ApprovalStatus, ApprovalVerdict } from '@purser/wire/approvals'
import type { AuditEventType } from '@purser/wire/audit-log'
import type { Environment } from '@purser/wire/fields'
import type { MandateStatus } from '@purser/wire/mandates'

import type { ConsoleOperations, ConsoleReads, StoredSession } from './console/store.ts'
import type { Approval, Increase } from '../domain/approval.ts'
import type { CollectionRefusal } from '../domain/collection.ts'
import type { CreationAttempt } from '../domain/creation-attempt.ts'
import type { MicroUsdc } from '../domain/money.ts'
import type { Limit, LimitFacts, LimitUsage } from '../domain/limits.ts'
import type { PolicyDecision, PolicyDenial, PolicyFacts } from '../domain/policy.ts'
import type {
  Account,
  Agent,
  ApiKey,
  AuditEvent,
  Budget,
  Caller,
  Hold,
  ListedSeller,
  Mandate,
  MandateTerms,
  Metadata,
  RegisteredSeller,
  Scope,
  Transaction,
} from '../domain/records.ts'
import type { RiskFacts } from '../domain/risk.ts'
import type {
  AgentFilter,
  MandateListFilter,
  MandateVersion,
  Page,
  PageOf,
  RecordKey,
  TransactionFilter,
} from './lists.ts'

export type * from './lists.ts'

/**
 * The port of the ledger. One method is one business operation, and resolves once its outcome is durable. Refusals are
 * values; a rejection is a bug or a `StoreUnavailableError`.
 */
export interface Store extends StoreOperations, StoreReads, ConsoleOperations, ConsoleReads {
  /** Resolves if the store responds, can commit, and has the schema of this release. */
  checkReady(): Promise<void>
  /** Finishes accepted operations, then closes the store. */
  close(): Promise<void>
}

export interface StoreOperations {
  /** Records an account with its first keys, unless one with the same identity provider user exists. */
  createAccount(
    account: Account,
    keys: readonly NewApiKey[],
    events: readonly AuditEvent[],
  ): Promise<'created' | 'account_exists'>

  /** Records a key. `not_found`: no such account, or no such agent in the key's scope. */
  issueApiKey(key: NewApiKey, event: AuditEvent): Promise<'created' | 'not_found' | 'agent_revoked'>

  /** Revokes a key of the account. Idempotent. Refuses to revoke the last owner key, unless `mayBeLast`. */
  revokeApiKey(
    key: { readonly accountId: string; readonly id: string; readonly mayBeLast?: boolean },
    event: AuditEvent,
  ): Promise<ApiKey | 'not_found' | 'last_owner_key'>

  /**
   * Disables or enables an account. Idempotent. While it is disabled, `authenticate` and `findSession` do not find its keys
   * and sessions, and `capture` captures nothing from it.
   */
  moveAccount(
    id: string,
    to: AccountStatus,
    move: { readonly atMs: number; readonly events: readonly AuditEvent[] },
  ): Promise<Account | 'not_found'>

  /** Advances the clock of an account's sandbox; how far it is ahead then. */
  advanceClock(scope: Scope, byMs: number, event: AuditEvent): Promise<ClockOutcome>
  /** How far the clock of a scope is ahead, in milliseconds. */
  readClock(scope: Scope): Promise<number>
  /** The same for the account of a mandate; 0 for an unknown one. */
  readClockOfMandate(mandateId: string, environment: Environment): Promise<number>

  /** Voids the open holds of a scope. For each step that voided any, the store records the event with their number. */
  voidHolds(scope: Scope, event: AuditEvent): Promise<void>

  createAgent(agent: Agent, event: AuditEvent): Promise<void>

  /** Revokes an agent and voids its open holds. Idempotent. */
  revokeAgent(agent: RecordKey, event: AuditEvent): Promise<Agent | 'not_found'>

  /** Assigns an agent to a shared budget; null for none. With `expectedId`, only if it is in that one, or in none for null. */
  assignAgent(
    agent: RecordKey,
    assigned: { readonly budgetId: string | null; readonly expectedId?: string | null | undefined },
    event: AuditEvent,
  ): Promise<Agent | 'not_found' | 'budget_not_found' | 'version_mismatch'>

  /**
   * Records a mandate. Its `budgetPath` names its shared budget; the store adds the budgets above it. A retry gets the
   * mandate of the first attempt, as it is now.
   */
  createMandate(
    mandate: Mandate,
    event: AuditEvent,
    attempt?: CreationAttempt,
  ): Promise<
    | 'created'
    | Replayed<Mandate>
    | 'not_found'
    | 'budget_not_found'
    | 'agent_revoked'
    | 'idempotency_key_reused'
  >

  /** Records a shared budget, like a mandate. Its `ancestors` name its parent; the store adds the budgets above that. */
  createBudget(
    budget: Budget,
    event: AuditEvent,
    attempt?: CreationAttempt,
  ): Promise<Budget | Replayed<Budget> | 'budget_not_found' | 'budget_too_deep' | 'idempotency_key_reused'>

  /** Freezes or unfreezes a shared budget. Idempotent. Freezing it voids all open holds below it. */
  freezeBudget(budget: RecordKey, isFrozen: boolean, event: AuditEvent): Promise<Budget | 'not_found'>

  /** Changes the name and the limits of a shared budget. */
  changeBudget(budget: RecordKey, change: BudgetChange, event: AuditEvent): Promise<BudgetChangeOutcome>

  /** What checks 10 and 11 compare for a payment of an agent; undefined if nothing is counted. */
  readLimits(proposed: ProposedBooking): Promise<LimitFacts | undefined>

  /** Whether a first purchase of the resource needs no approval, under a mandate that asks for it. */
  isKnownSeller(
    mandate: RecordKey,
    purchase: { readonly resourceUrl: string; readonly issuedAtMs: number },
  ): Promise<boolean>

  /** The usage of the limits of a mandate and of its shared budgets. */
  readMandateUsage(mandate: RecordKey, atMs: number): Promise<readonly LimitUsage[]>

  /** The usage of the limits of a shared budget. */
  readBudgetUsage(budget: RecordKey, atMs: number): Promise<readonly LimitUsage[]>

  /**
   * Changes the terms of a mandate of the scope, and of the filter's agent if it has one. The store adds to the event what
   * has changed. If the terms already are as requested, nothing changes.
   */
  amendMandate(
    mandate: RecordKey,
    filter: AgentFilter,
    amendment: Amendment,
    event: AuditEvent,
  ): Promise<AmendmentOutcome>

  /** Records a person's decision. An approved increase takes effect in the same transaction. */
  decideApproval(
    approval: RecordKey & { readonly mandateId: string },
    verdict: ApprovalVerdictCall,
    events: { readonly decided: AuditEvent; readonly amended: AuditEvent },
  ): Promise<Approval | ApprovalRefusal>

  /** Requests wider terms for a mandate of the scope, and of the filter's agent if it has one. */
  requestIncrease(
    mandate: RecordKey,
    filter: AgentFilter,
    request: IncreaseRequest,
    event: AuditEvent,
  ): Promise<Approval | IncreaseRefusal>

  /** Changes the status of a mandate; leaving `active` voids its open holds. `revoked` is permanent. */
  moveMandate(
    mandate: RecordKey,
    to: MandateStatus,
    event: AuditEvent,
  ): Promise<Mandate | 'not_found' | 'mandate_revoked'>

  /**
   * Registers a seller under its domain, unless the domain is taken. A pending seller is recorded without the domain: it
   * cannot collect, and others may claim the domain too.
   */
  createSeller(seller: ListedSeller, event: AuditEvent): Promise<'created' | 'seller_exists'>

  /** Assigns a domain to an account's pending seller, unless it is taken. Idempotent. */
  claimDomain(seller: OwnDomain, event: AuditEvent): Promise<'claimed' | 'seller_exists' | 'not_found'>

  /**
   * Removes the seller under a domain, whichever account owns it; undefined if there is none. Payments keep the seller's id.
   * The store adds the seller to the events: `own` is recorded in the operator's account, and `theirs` in the seller's, if
   * that is a different one.
   */
  releaseDomain(
    registration: Pick<OwnDomain, 'environment' | 'domain'>,
    events: ReleaseEvents,
  ): Promise<RegisteredSeller | undefined>

  /**
   * Holds the amount of a proof if the policy approves it inside the transaction. If an earlier request with the same key made
   * a hold, returns that one.
   */
  issueProof(hold: Hold, requestKey?: RequestKey, asking?: Asking): Promise<ProofOutcome>

  /**
   * Voids an open hold of the scope, and of the filter's agent if it has one, and releases its amount at once. Resolves to the
   * resulting hold; undefined if there is none. If the hold was voided, the store records the event with its details.
   */
  voidProof(
    proof: Scope & { readonly nonce: string },
    filter: AgentFilter,
    event: AuditEvent,
  ): Promise<Hold | undefined>

  /**
   * Captures a hold once: steps 4 to 8 of a verification. With `confirmsCallers`, only a capture has checked the caller's
   * key: other outcomes may come from cached rows.
   */
  capture(capture: Capture): Promise<CaptureOutcome>

  /**
   * Answers a verification after the proof's window: a retry gets the transaction of its earlier capture. Otherwise ends the
   * hold, so that no capture in progress succeeds after the answer.
   */
  settleLate(attempt: LateAttempt): Promise<LateOutcome>

  /**
   * Authorizes a hold for a merchant: the checks of a capture, without the charge. Its amount stays reserved, also after a
   * stop, until the merchant captures or voids it or its deadline passes.
   */
  authorize(authorization: Authorization, event: AuditEvent): Promise<AuthorizeOutcome>

  /** Answers an authorization after the proof's window, like `settleLate`. */
  settleLateAuthorization(attempt: LateAttempt): Promise<LateAuthorizationOutcome>

  /** Captures an authorized hold once, up to its amount, and releases the rest. */
  captureAuthorized(settlement: Settlement): Promise<SettleOutcome>

  /** Voids an authorized hold for its merchant, and releases its amount at once. Idempotent. */
  voidAuthorized(payment: AuthorizedPayment, event: AuditEvent): Promise<VoidOutcome>

  /**
   * Refunds part of a captured payment: the amount may be spent again. The store adds the details to the
   * events, one for the account that paid, and one for the caller's if that is a different one.
   */
  refund(
    refund: Refund,
    events: { readonly payer: AuditEvent; readonly own: AuditEvent },
  ): Promise<RefundOutcome>

  /** Records an evaluation, with the policy's decision inside the transaction; a dry run is only decided. */
  evaluate(proposal: ProposedTransaction): Promise<PolicyDecision>

  /** Releases the amounts of expired holds of at most `maxMandates`; resolves to the number of holds. */
  releaseExpiredHolds(nowMs: number, maxMandates: number): Promise<number>
}

export interface StoreReads {
  /** Whether no account exists yet. */
  isEmpty(): Promise<boolean>

  /** Whether `capture` checks its caller's key itself, so that callers may be cached. */
  readonly confirmsCallers: boolean

  /**
   * The caller whose key has this SHA-256; undefined if the key is unknown or revoked, or its account disabled. Synchronous if
   * possible, because every request calls it.
   */
  authenticate(secretHash: Buffer): Caller | undefined | Promise<Caller | undefined>

  findApproval(approval: RecordKey): Promise<Approval | undefined>
  /** A page is short, with a next one, if few of the approvals that it may read match. */
  listApprovals(scope: Scope, filter: ApprovalFilter, page: Page): Promise<PageOf<Approval>>
  /** The domains that were paid under a mandate, a bounded number of them. */
  listPaidDomains(mandate: RecordKey): Promise<string[]>

  /** At most this many versions of a mandate, older than the one named, newest first; none if it was never amended. */
  listMandateVersions(
    mandate: RecordKey,
    page: { readonly limit: number; readonly below?: number | undefined },
  ): Promise<MandateVersion[]>

  /** The facts for verify-agent, from one snapshot. */
  readAgentFacts(question: AgentQuestion): Promise<AgentFacts>

  findAgent(agent: RecordKey): Promise<Agent | undefined>
  findMandate(mandate: RecordKey): Promise<Mandate | undefined>
  findBudget(budget: RecordKey): Promise<(Budget & { readonly children: number }) | undefined>
  listBudgets(scope: Scope, page: Page): Promise<PageOf<Budget>>
  findTransaction(transaction: RecordKey, filter: TransactionFilter): Promise<Transaction | undefined>

  /** The hold of a proof of this scope, or of one that this scope's account collected. */
  findProof(proof: Scope & { readonly nonce: string }): Promise<Hold | undefined>

  /** Whether the account has registered a seller under this domain in this environment. */
  ownsDomain(question: Scope & { readonly domain: string }): Promise<boolean>

  listAccounts(page: Page): Promise<PageOf<Account>>
  /** An account's current sessions, without unused links. */
  listSessions(
    account: { readonly accountId: string },
    nowMs: number,
    page: Page,
  ): Promise<PageOf<StoredSession>>
  listApiKeys(account: { readonly accountId: string }, page: Page): Promise<PageOf<ApiKey>>
  listAgents(scope: Scope, filter: AgentFilter, page: Page): Promise<PageOf<Agent>>
  /** Matching mandates, from a bounded number: a page may be short and have a next one. */
  listMandates(scope: Scope, filter: MandateListFilter, page: Page): Promise<PageOf<Mandate>>
  /** The seller of an account for a domain. */
  findSeller(seller: OwnDomain): Promise<ListedSeller | undefined>
  findSellerById(seller: RecordKey): Promise<ListedSeller | undefined>
  listSellers(scope: Scope, page: Page): Promise<PageOf<ListedSeller>>
  listTransactions(scope: Scope, filter: TransactionFilter, page: Page): Promise<PageOf<Transaction>>
  listAuditEvents(scope: Scope, filter: AuditFilter, page: Page): Promise<PageOf<AuditEvent>>

  /** Every inconsistency in the ledger. Reads the whole ledger. */
  findLedgerFaults(): Promise<LedgerFault[]>
}

export interface Amendment {
  /** The terms to change. */
  readonly terms: Partial<MandateTerms>
  /** The version that the caller has seen. */
  readonly expectedVersion: number
  /** Whether the caller may allow more than the mandate does. */
  readonly mayWiden: boolean
  /** Whether the open payments end. */
  readonly endsHolds: boolean
  /** The domains that were paid before, if the amendment asks for approval of first purchases. */
  readonly paidDomains?: readonly string[] | undefined
}

/** An operation that changes nothing, and why. */
export interface Refusal<Code> {
  readonly outcome: 'refused'
  readonly code: Code
}

export type AmendmentOutcome =
  | { readonly outcome: 'amended'; readonly mandate: Mandate }
  | Refusal<
      | 'not_found'
      | 'budget_not_found'
      | 'mandate_revoked'
      | 'version_mismatch'
      | 'widening_needs_owner'
      | 'history_too_long'
    >
  /** The total budget would be below what is spent, held and authorized. */
  | ({ readonly outcome: 'below_committed' } & Pick<Mandate, 'spentMicro' | 'heldMicro' | 'authorizedMicro'>)

/** A possible payment, as far as limits need it. */
export interface ProposedBooking extends Pick<Hold, 'accountId' | 'agentId' | 'mandateId' | 'resourceUrl'> {
  readonly atMs: number
}

export interface BudgetChange {
  readonly expectedVersion: number
  readonly name?: string | undefined
  /** With new ids: the store keeps those of limits that count the same as before. */
  readonly limits?: readonly Limit[] | undefined
  /** Whether open holds below the budget end if a limit is below what is committed. */
  readonly endsHolds: boolean
}

export type BudgetChangeOutcome =
  | { readonly outcome: 'changed'; readonly budget: Budget }
  | Refusal<'not_found' | 'version_mismatch' | 'history_too_long'>
  /** A limit would be below what counts in it. */
  | { readonly outcome: 'below_committed'; readonly usage: LimitUsage }

/** A domain in the environment of an account. */
export interface OwnDomain extends Scope {
  readonly domain: string
}

/** The events of a release, before the seller is known. */
export interface ReleaseEvents {
  /** In the log of the operator. */
  readonly own: AuditEvent
  /** In the log of the seller's account, whose test clock is not added yet. */
  readonly theirs: AuditEvent
}

/** A key with the SHA-256 of its text, which is not stored itself. */
export interface NewApiKey extends ApiKey {
  readonly secretHash: Buffer
}

export type ClockOutcome =
  | { readonly outcome: 'advanced'; readonly offsetMs: number }
  | Refusal<'not_found' | 'test_clock_too_far'>

/** An evaluation before its outcome is known; the store adds the seller. */
export interface ProposedTransaction extends Omit<
  Transaction,
  | 'status'
  | 'sellerId'
  | 'reasonCode'
  | 'reasonDetail'
  | 'refundOf'
  | 'refundedText'
  | 'orderId'
  | 'isExpense'
  | 'isRevenue'
  | 'mandateVersion'
  | 'metadata'
> {
  readonly metadata?: Metadata | null
  /** Whether to decide only, and record nothing. */
  readonly isDryRun?: boolean
}

/** The `Idempotency-Key` of a request for a proof, with the API key or session that sent it. */
export interface RequestKey {
  readonly callerId: string
  readonly idempotencyKey: string
}

/** The record that an earlier request with the same key has created. */
export interface Replayed<Created> {
  readonly replayed: Created
}

/** Who requests a proof, and with which approval. */
export interface Asking {
  readonly approvalId?: string | undefined
  readonly requester: Requester
}

/** Who makes a request: a key or session, and the person behind it. */
export interface Requester {
  readonly actor: string
  readonly person: string
}

/** The approval that a refused payment needs. */
export interface AskedApproval extends Pick<Approval, 'id' | 'expiresAtMs'> {
  readonly status: ApprovalStatus
}

export type ProofOutcome =
  | Exclude<PolicyDecision, PolicyDenial>
  | (PolicyDenial & { readonly approval?: AskedApproval | undefined })
  /** The hold of the first request with the key, whatever its status. */
  | { readonly decision: 'replayed'; readonly hold: Hold }
  /** The key was used for another request. */
  | { readonly decision: 'key_reused' }
  /** The order has a payment: it was paid, or the payment has another amount or resource. */
  | { readonly decision: 'order_already_paid' | 'order_mismatch' }

/** The terms of a proof. Its hold must have the same, so that a leaked proof secret cannot change an amount. */
export type ProofTerms = Pick<Hold, 'agentId' | 'mandateId' | 'amountText' | 'resourceUrl'> & {
  readonly currency: string
}

export interface CaptureAttempt extends ProofTerms {
  readonly caller: Caller
  readonly nonce: string
  readonly merchantDomain: string
  /** The category that the merchant has named, if any. */
  readonly category?: string | null
  readonly idempotencyKey: string | null
}

/** An attempt after the window of the proof has closed. */
export interface LateAttempt extends CaptureAttempt {
  readonly nowMs: number
}

export interface Capture extends LateAttempt {
  readonly transactionId: string
}

/** Why an attempt collects nothing. */
export type AttemptRefusal =
  | Refusal<CollectionRefusal | 'invalid_api_key'>
  | { readonly outcome: 'failed'; readonly reason: 'invalid_signature' | 'nonce_reused' | 'proof_expired' }

export type CaptureOutcome =
  | { readonly outcome: 'captured' | 'replayed'; readonly transactionId: string }
  | AttemptRefusal

interface Expired {
  readonly outcome: 'failed'
  readonly reason: 'proof_expired'
}

export type LateOutcome = { readonly outcome: 'replayed'; readonly transactionId: string } | Expired

export interface Authorization extends LateAttempt {
  /** How long the merchant may take to capture; the mandate limits it. */
  readonly captureSeconds: number
}

export type AuthorizeOutcome =
  | { readonly outcome: 'authorized' | 'replayed'; readonly hold: Hold }
  | AttemptRefusal

export type LateAuthorizationOutcome = { readonly outcome: 'replayed'; readonly hold: Hold } | Expired

/** A merchant's call for a payment that its account has authorized. */
export type AuthorizedPayment = Pick<LateAttempt, 'caller' | 'nonce' | 'nowMs'>

export interface Settlement extends AuthorizedPayment {
  /** How much to capture; null for the whole amount. */
  readonly amountMicro: MicroUsdc | null
  readonly idempotencyKey: string | null
  readonly transactionId: string
}

export type SettleOutcome =
  | {
      readonly outcome: 'captured' | 'replayed'
      readonly mandateId: string
      readonly transactionId: string
      readonly amountText: string
    }
  | Refusal<
      | 'not_found'
      | 'invalid_api_key'
      | 'already_captured'
      | 'authorization_voided'
      | 'authorization_expired'
      | 'amount_exceeds_authorization'
    >

/** A refund by the account that has collected a payment. */
export interface Refund {
  readonly caller: Caller
  /** The transaction of the payment. */
  readonly transactionId: string
  readonly refundId: string
  readonly amountText: string
  readonly amountMicro: MicroUsdc
  readonly reason: string | null
  readonly idempotencyKey: string
  readonly nowMs: number
}

export type RefundOutcome =
  | {
      readonly outcome: 'refunded' | 'replayed'
      readonly mandateId: string
      readonly refundId: string
    }
  | Refusal<
      | 'not_found'
      | 'invalid_api_key'
      | 'seller_not_yours'
      | 'not_refundable'
      | 'idempotency_key_reused'
      | 'refund_exceeds_payment'
      | 'too_many_refunds'
    >

export type VoidOutcome =
  /** It is `voided`, now or before, or it had expired. */
  | { readonly outcome: 'ended'; readonly hold: Hold }
  | Refusal<'not_found' | 'invalid_api_key' | 'already_captured'>

export type AgentQuestion = Pick<LateAttempt, 'caller' | 'agentId' | 'mandateId' | 'merchantDomain' | 'nowMs'>

/** The agent and mandate, if the caller may see them; risk facts if both are present. */
export interface AgentFacts extends PolicyFacts {
  readonly risk: RiskFacts | undefined
}

/** A person's decision, and who the person is. */
export interface ApprovalVerdictCall extends Requester {
  readonly verdict: ApprovalVerdict
  readonly note: string | null
  readonly isOwner: boolean
}

export type ApprovalRefusal =
  | 'not_found'
  | 'own_request'
  | 'widening_needs_owner'
  | 'approval_expired'
  | 'approval_decided'
  | 'mandate_revoked'
  | 'version_mismatch'
  | 'history_too_long'

export interface IncreaseRequest {
  readonly approvalId: string
  readonly increase: Increase
  readonly message: string
  readonly requester: Requester
}

export type IncreaseRefusal =
  | 'not_found'
  | 'mandate_revoked'
  | 'agent_revoked'
  | 'nothing_to_increase'
  | 'too_many_approvals'

export interface ApprovalFilter extends AgentFilter {
  readonly mandateId?: string | undefined
  /** The status at a time. */
  readonly status?: ApprovalStatus | undefined
  readonly nowMs: number
}

export interface AuditFilter {
  readonly type?: AuditEventType | undefined
  readonly subjectId?: string | undefined
}

/** A mandate whose sums do not agree with its records, or a record without its counterpart. */
export interface LedgerFault {
  readonly accountId: string
  readonly subjectId: string
  readonly fault: string
}

/** The operation is not possible now. Nothing was charged, or a retry returns the outcome. */
export class StoreUnavailableError extends Error {
  override readonly name = 'StoreUnavailableError'
  readonly retryAfterSeconds: number
  constructor(message: string, options: { retryAfterSeconds: number; cause?: unknown }) {
    super(message, { cause: options.cause })
    this.retryAfterSeconds = options.retryAfterSeconds
  }
}

/** A query of the console exceeded its time limit; payments are not affected. */
export class QueryTooSlowError extends Error {
  override readonly name = 'QueryTooSlowError'
}

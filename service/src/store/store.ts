import type { AccountStatus } from '@purser/wire/accounts'
import type { AuditEventType } from '@purser/wire/audit-log'
import type { Environment } from '@purser/wire/fields'
import type { MandateStatus } from '@purser/wire/mandates'

import type { ConsoleActs, ConsoleReads, StoredSession } from './console/store.ts'
import type { CollectionRefusal } from '../domain/collection.ts'
import type { PolicyDecision, PolicyFacts } from '../domain/policy.ts'
import type {
  Account,
  Agent,
  ApiKey,
  AuditEvent,
  Caller,
  Hold,
  ListedSeller,
  Mandate,
  RegisteredSeller,
  Scope,
  Transaction,
} from '../domain/records.ts'
import type { RiskFacts } from '../domain/risk.ts'
import type { AgentFilter, Page, PageOf, RecordKey, TransactionFilter } from './lists.ts'

export type { AgentFilter, Page, PageOf, RecordKey, TransactionFilter } from './lists.ts'

/**
 * Where the ledger lives. One method is one business act and one transaction: it resolves when the act
 * is durable. Refusals are values; a rejection is a bug or a `StoreUnavailableError`.
 */
export interface Store extends StoreActs, StoreReads, ConsoleActs, ConsoleReads {
  /** Resolves when the store answers and its schema is the one this release needs. */
  checkReady(): Promise<void>
  /** Writes what was accepted, then lets go of the store. */
  close(): Promise<void>
}

export interface StoreActs {
  /** Records an account with its first keys, unless one of the same identity-provider user exists. */
  createAccount(
    account: Account,
    keys: readonly NewApiKey[],
    events: readonly AuditEvent[],
  ): Promise<'created' | 'account_exists'>

  /** Records a key. `not_found`: no such account, or no such agent in the key's scope. */
  issueApiKey(key: NewApiKey, event: AuditEvent): Promise<'created' | 'not_found' | 'agent_revoked'>

  /**
   * Revokes a key of the account; the same answer again when it is revoked already. The account's last key of an owner is
   * refused, unless `mayBeLast`.
   */
  revokeApiKey(
    key: { readonly accountId: string; readonly id: string; readonly mayBeLast?: boolean },
    event: AuditEvent,
  ): Promise<ApiKey | 'not_found' | 'last_owner_key'>

  /**
   * Disables or enables an account; the same answer again when it is so already. While an account is disabled,
   * `authenticate` and `findSession` find none of its keys and sessions, and `capture` captures nothing from it.
   */
  moveAccount(
    id: string,
    to: AccountStatus,
    move: { readonly atMs: number; readonly events: readonly AuditEvent[] },
  ): Promise<Account | 'not_found'>

  /**
   * Voids open holds of a scope, those of a bounded number of mandates; whether more are left. The store completes the
   * event with how many, and records it when there were any.
   */
  voidSomeHolds(scope: Scope, event: AuditEvent): Promise<{ readonly isMoreLeft: boolean }>

  createAgent(agent: Agent, event: AuditEvent): Promise<void>

  /** Revokes an agent and voids its open holds; the same answer again when it is revoked already. */
  revokeAgent(agent: RecordKey, event: AuditEvent): Promise<Agent | 'not_found'>

  createMandate(mandate: Mandate, event: AuditEvent): Promise<'created' | 'not_found' | 'agent_revoked'>

  /** Moves a mandate to a status; leaving `active` voids its open holds. `revoked` is for good. */
  moveMandate(
    mandate: RecordKey,
    to: MandateStatus,
    event: AuditEvent,
  ): Promise<Mandate | 'not_found' | 'mandate_revoked'>

  /**
   * Registers a seller under its domain, unless somebody has it. One that is pending is written without the domain, so it
   * collects nothing, and others may ask for the domain, too.
   */
  createSeller(seller: ListedSeller, event: AuditEvent): Promise<'created' | 'seller_exists'>

  /** Gives a domain to the pending seller of an account, unless somebody has it; `claimed` again when it has it itself. */
  claimDomain(seller: OwnDomain, event: AuditEvent): Promise<'claimed' | 'seller_exists' | 'not_found'>

  /**
   * Removes the seller that is registered under a domain, whoever owns it; undefined when there is none. Payments keep the
   * seller's id. The store completes the events with the seller: `own` is recorded in the operator's account, and `theirs`
   * in the seller's when that is another.
   */
  releaseDomain(registration: Registration, events: ReleaseEvents): Promise<RegisteredSeller | undefined>

  /**
   * Holds the amount of a proof when the policy approves on the facts inside the transaction. A request that carries a key
   * finds the hold that the same key made before, and then makes none.
   */
  issueProof(hold: Hold, requestKey?: RequestKey): Promise<ProofOutcome>

  /**
   * Voids an open hold of this scope, and of this agent where the filter names one: its amount is free at once. Resolves
   * to the hold as it then is, changed or not; undefined when there is none. The store completes the event with what
   * the hold was for, and records it when the hold was voided.
   */
  voidProof(
    proof: Scope & { readonly nonce: string },
    filter: AgentFilter,
    event: AuditEvent,
  ): Promise<Hold | undefined>

  /**
   * Captures a hold, once: steps 4 to 8 of a verification. Of a caller who is only remembered, `confirmCaller` says
   * whether the key is still good; it is asked unless the transaction that captures looks itself.
   */
  capture(capture: Capture, confirmCaller?: () => Promise<boolean>): Promise<CaptureOutcome>

  /**
   * Answers a proof whose window is closed, in the order of captures: with the transaction of a capture that this very
   * key made for this domain, with this idempotency key. Where there is none, its hold is ended, so that no capture of it
   * that is still on its way is done after the answer.
   */
  settleLate(attempt: LateAttempt): Promise<LateOutcome>

  /** Records an evaluation with the decision of the policy on the facts inside the transaction. */
  evaluate(proposal: ProposedTransaction): Promise<PolicyDecision>

  /** Gives the amounts of expired holds back, those of at most `maxMandates`; resolves to the holds ended. */
  releaseExpiredHolds(nowMs: number, maxMandates: number): Promise<number>
}

export interface StoreReads {
  /** Whether no account exists yet. */
  isEmpty(): Promise<boolean>

  /** Whether `capture` can look at the key of its caller itself, so that nobody need look it up before. */
  readonly confirmsCallers: boolean

  /**
   * The caller whose key has this SHA-256, unless it is unknown or revoked, or its account is disabled. Every call asks this,
   * so there is a promise only where there is something to wait for.
   */
  authenticate(secretHash: Buffer): Caller | undefined | Promise<Caller | undefined>

  /** What verify-agent reports on, from one moment. */
  readAgentFacts(question: AgentQuestion): Promise<AgentFacts>

  findAgent(agent: RecordKey): Promise<Agent | undefined>
  findMandate(mandate: RecordKey): Promise<Mandate | undefined>
  findTransaction(transaction: RecordKey, filter: TransactionFilter): Promise<Transaction | undefined>

  /** What has become of a proof of this scope, or of one that this scope's account collected. */
  findProof(proof: Scope & { readonly nonce: string }): Promise<Hold | undefined>

  /** Whether the account has registered a seller under this domain in this environment. */
  ownsDomain(question: Scope & { readonly domain: string }): Promise<boolean>

  listAccounts(page: Page): Promise<PageOf<Account>>
  /** The sessions of an account that are not over, without links that nobody has followed. */
  listSessions(
    account: { readonly accountId: string },
    nowMs: number,
    page: Page,
  ): Promise<PageOf<StoredSession>>
  listApiKeys(account: { readonly accountId: string }, page: Page): Promise<PageOf<ApiKey>>
  listAgents(scope: Scope, filter: AgentFilter, page: Page): Promise<PageOf<Agent>>
  listMandates(scope: Scope, filter: AgentFilter, page: Page): Promise<PageOf<Mandate>>
  /** The seller of an account for a domain. */
  findSeller(seller: OwnDomain): Promise<ListedSeller | undefined>
  listSellers(scope: Scope, page: Page): Promise<PageOf<ListedSeller>>
  listTransactions(scope: Scope, filter: TransactionFilter, page: Page): Promise<PageOf<Transaction>>
  listAuditEvents(scope: Scope, filter: AuditFilter, page: Page): Promise<PageOf<AuditEvent>>

  /** Everything in the ledger that does not add up; empty when all is well. Reads the whole ledger. */
  findLedgerFaults(): Promise<LedgerFault[]>
}

/** What a seller is found by. */
export interface Registration {
  readonly environment: Environment
  readonly domain: string
}

/** A domain in the environment of an account. */
export interface OwnDomain extends Scope {
  readonly domain: string
}

/** What a release is recorded as, before the seller is known. */
export interface ReleaseEvents {
  /** In the log of the operator. */
  readonly own: AuditEvent
  /** In the log of the seller's account. */
  readonly theirs: AuditEvent
}

/** How many mandates one `voidSomeHolds` covers, so that no payment waits long for it. */
export const mandatesVoidedAtOnce = 100

/** A key with the SHA-256 of its text, which is all that is stored of it. */
export interface NewApiKey extends ApiKey {
  readonly secretHash: Buffer
}

/** An evaluation before its outcome is known; the store adds the seller. */
export type ProposedTransaction = Omit<Transaction, 'status' | 'sellerId' | 'reasonCode' | 'reasonDetail'>

/** The `Idempotency-Key` of a request for a proof, with the API key or session that sent it. */
export interface RequestKey {
  readonly callerId: string
  readonly idempotencyKey: string
}

export type ProofOutcome =
  | PolicyDecision
  /** The hold that the first request with the key made, whatever has become of it. */
  | { readonly decision: 'replayed'; readonly hold: Hold }
  /** The key was used for another request. */
  | { readonly decision: 'key_reused' }

/** What a proof says that it pays. Its hold must say the same, so that a leaked proof secret changes no amount. */
interface ProofTerms {
  readonly agentId: string
  readonly mandateId: string
  readonly amountText: string
  readonly currency: string
  readonly resourceUrl: string
}

/** Who tries to capture which proof, and whether it is a retry. */
export interface CaptureAttempt extends ProofTerms {
  readonly caller: Caller
  readonly nonce: string
  readonly merchantDomain: string
  readonly idempotencyKey: string | null
}

export interface Capture extends CaptureAttempt {
  readonly transactionId: string
  readonly nowMs: number
}

/** An attempt after the window of the proof has closed. */
export interface LateAttempt extends CaptureAttempt {
  readonly nowMs: number
}

export type CaptureOutcome =
  | { readonly outcome: 'captured' | 'replayed'; readonly transactionId: string }
  | { readonly outcome: 'refused'; readonly code: CollectionRefusal | 'invalid_api_key' }
  | { readonly outcome: 'failed'; readonly reason: 'invalid_signature' | 'nonce_reused' | 'proof_expired' }

export type LateOutcome =
  | { readonly outcome: 'replayed'; readonly transactionId: string }
  | { readonly outcome: 'failed'; readonly reason: 'proof_expired' }

export interface AgentQuestion {
  readonly caller: Caller
  readonly agentId: string
  readonly mandateId: string
  readonly merchantDomain: string
  readonly nowMs: number
}

/** The agent and mandate as far as the caller may know them; risk facts when both are known. */
export interface AgentFacts extends PolicyFacts {
  readonly risk: RiskFacts | undefined
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

/** The store cannot do the act now. Nothing was charged, or a retry will tell. */
export class StoreUnavailableError extends Error {
  override readonly name = 'StoreUnavailableError'
  /** When it is worth trying again. */
  readonly retryAfterSeconds: number
  constructor(message: string, options: { retryAfterSeconds: number; cause?: unknown }) {
    super(message, { cause: options.cause })
    this.retryAfterSeconds = options.retryAfterSeconds
  }
}

/** A read of the console took longer than it may; payments go on. */
export class QueryTooSlowError extends Error {
  override readonly name = 'QueryTooSlowError'
}

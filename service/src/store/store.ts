import type { AuditEventType } from '@purser/wire/audit-log'
import type { MandateStatus } from '@purser/wire/mandates'
import type { TransactionStatus } from '@purser/wire/transactions'

import type { ConsoleActs, ConsoleReads } from './console-store.ts'
import type { CollectionRefusal } from '../domain/collection.ts'
import type { PolicyDecision, PolicyFacts } from '../domain/policy.ts'
import type {
  Account,
  Agent,
  ApiKey,
  AuditEvent,
  Caller,
  Hold,
  Mandate,
  Scope,
  Seller,
  Transaction,
} from '../domain/records.ts'
import type { RiskFacts } from '../domain/risk.ts'

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

  /** Revokes a key of the account; the same answer again when it is revoked already. */
  revokeApiKey(
    key: { readonly accountId: string; readonly id: string },
    event: AuditEvent,
  ): Promise<ApiKey | 'not_found' | 'last_owner_key'>

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

  createSeller(seller: Seller, event: AuditEvent): Promise<'created' | 'seller_exists'>

  /** Holds the amount of a proof when the policy approves on the facts inside the transaction. */
  issueProof(hold: Hold): Promise<PolicyDecision>

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

  /** The caller whose key has this SHA-256, unless it is unknown or revoked. */
  authenticate(secretHash: Buffer): Promise<Caller | undefined>

  /** What verify-agent reports on, from one moment. */
  readAgentFacts(question: AgentQuestion): Promise<AgentFacts>

  findAgent(agent: RecordKey): Promise<Agent | undefined>
  findMandate(mandate: RecordKey): Promise<Mandate | undefined>
  findTransaction(transaction: RecordKey, filter: TransactionFilter): Promise<Transaction | undefined>

  /** What has become of a proof of this scope, or of one that this scope's account collected. */
  findProof(proof: Scope & { readonly nonce: string }): Promise<Hold | undefined>

  listApiKeys(account: { readonly accountId: string }, page: Page): Promise<PageOf<ApiKey>>
  listAgents(scope: Scope, filter: AgentFilter, page: Page): Promise<PageOf<Agent>>
  listMandates(scope: Scope, filter: AgentFilter, page: Page): Promise<PageOf<Mandate>>
  listSellers(scope: Scope, page: Page): Promise<PageOf<Seller>>
  listTransactions(scope: Scope, filter: TransactionFilter, page: Page): Promise<PageOf<Transaction>>
  listAuditEvents(scope: Scope, filter: AuditFilter, page: Page): Promise<PageOf<AuditEvent>>

  /** Everything in the ledger that does not add up; empty when all is well. Reads the whole ledger. */
  findLedgerFaults(): Promise<LedgerFault[]>
}

/** One record of one scope. */
export interface RecordKey extends Scope {
  readonly id: string
}

/** A key with the SHA-256 of its text, which is all that is stored of it. */
export interface NewApiKey extends ApiKey {
  readonly secretHash: Buffer
}

/** An evaluation before its outcome is known; the store adds the seller. */
export type ProposedTransaction = Omit<Transaction, 'status' | 'sellerId' | 'reasonCode' | 'reasonDetail'>

/** Who tries to capture which proof, and whether it is a retry. */
export interface CaptureAttempt {
  readonly caller: Caller
  readonly nonce: string
  readonly mandateId: string
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
  | { readonly outcome: 'failed'; readonly reason: 'nonce_reused' | 'proof_expired' }

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

/** Only what belongs to one agent, for a key that speaks for it. */
export interface AgentFilter {
  readonly agentId?: string | undefined
}

export interface TransactionFilter extends AgentFilter {
  readonly mandateId?: string | undefined
  readonly status?: TransactionStatus | undefined
  readonly merchantDomain?: string | undefined
  /** Only what was paid to sellers of the scope's account. */
  readonly receivedOnly?: boolean
}

export interface AuditFilter {
  readonly type?: AuditEventType | undefined
  readonly subjectId?: string | undefined
}

/** Which part of a list: at most so many items, older than the one named. */
export interface Page {
  readonly limit: number
  readonly olderThan?: string | undefined
}

export interface PageOf<Item> {
  readonly items: Item[]
  /** The id to go on from, when there is more. */
  readonly next: string | undefined
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

/** The store cannot be opened; the message says in one sentence what is wrong and what would help. */
export class StoreOpenError extends Error {
  override readonly name = 'StoreOpenError'
}

/** A read of the console took longer than it may; payments go on. */
export class QueryTooSlowError extends Error {
  override readonly name = 'QueryTooSlowError'
}

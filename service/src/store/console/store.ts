import type { Environment } from '@purser/wire/fields'
import type { Role } from '@purser/wire/roles'
import type { SessionKind } from '@purser/wire/console/session'
import type { VerificationFailure } from '@purser/wire/payments'
import type { ListedStatus } from '@purser/wire/console/mandates'
import type { TransactionStatus } from '@purser/wire/transactions'

import type { MicroUsdc } from '../../domain/money.ts'
import type {
  Account,
  Agent,
  ApiKey,
  AuditEvent,
  Hold,
  Mandate,
  Scope,
  ListedSeller,
  Transaction,
} from '../../domain/records.ts'
import type { Page, PageOf, RecordKey, TransactionFilter } from '../lists.ts'

/** What the console does beside what every owner can do. One method is one transaction, and a short one. */
export interface ConsoleActs {
  /** Records a session, and forgets those of the account that are over. */
  createSession(session: StoredSession, event: AuditEvent | undefined): Promise<void>

  /** Moves the end of a session that is used. */
  touchSession(session: SessionKey, usedAtMs: number): Promise<void>

  /** Ends a session, once; whether it was there. */
  endSession(session: SessionKey, event: AuditEvent | undefined): Promise<boolean>

  /** Ends a session of the account by its id, once; whether it was there. */
  endSessionById(
    session: { readonly accountId: string; readonly id: string },
    event: AuditEvent,
  ): Promise<boolean>

  /**
   * Pauses every active mandate of a scope and ends its open holds. One that cannot be paused, because its row is locked for
   * example, holds up no other: it is named in the outcome, and `continueStops` tries it again.
   */
  stopMandates(scope: Scope, stop: StopCall): Promise<StopOutcome>

  /**
   * Goes on with stops that could not pause every mandate, or that were cut short with their service; to how many mandates
   * it paused. Each stop that paused any is recorded once more.
   */
  continueStops(now: () => number): Promise<number>

  /**
   * Resumes what a stop paused, or what any did when none is named, and nothing once another stop is pressed; to the ids of
   * the mandates.
   */
  resumeMandates(scope: Scope, undo: UndoCall): Promise<readonly string[]>

  /** Writes an event that tells of many changes, each of which left its own. */
  recordEvent(event: AuditEvent): Promise<void>

  /** Does some of what is done behind the payments, first of all adding them up; whether more are left to be added. */
  addUpActivity(): Promise<boolean>

  /** Adds what was counted in memory. */
  addTallies(tallies: Tallies): Promise<void>
}

/** What the console shows; none of it holds up a payment, and each read is bounded in time. */
export interface ConsoleReads {
  /** A session that was not ended, unless its key is revoked, or its account disabled. Whether its time is over says `sessionEndMs`. */
  findSession(session: SessionKey): Promise<StoredSession | undefined>
  findAccount(account: { readonly id: string } | { readonly idpUserId: string }): Promise<Account | undefined>

  /** The sums of some subjects from one moment on, by quarter of an hour, or by day (UTC) for sellers; exact. */
  readActivity(scope: Scope, question: ActivityQuestion): Promise<Activity[]>
  /** What the active mandates of a scope add up to, with those that are nearest to their end. */
  readBudgets(scope: Scope, nowMs: number): Promise<Budgets>
  /** How many mandates a stop paused that are still paused. */
  countStoppedMandates(scope: Scope): Promise<number>
  readChecklist(scope: Scope): Promise<ChecklistFacts>
  /** What was refused without a record, as counted in memory and written down since. */
  readRefusals(scope: Scope, question: RefusalQuestion): Promise<Refusal[]>

  listConsoleMandates(scope: Scope, filter: MandateFilter, page: Page): Promise<PageOf<ConsoleMandate>>
  findConsoleMandate(mandate: RecordKey): Promise<ConsoleMandate | undefined>
  /** The open holds of a mandate, soonest to expire first. */
  listOpenHolds(mandate: RecordKey, nowMs: number, limit: number): Promise<Hold[]>
  /** Those that fit, of a bounded number that is looked at: a page may be short and have a next one. */
  listConsoleTransactions(
    scope: Scope,
    filter: ConsoleFilter & TransactionFilter,
    page: Page,
  ): Promise<PageOf<Transaction>>
  /** Of the newest transactions of the account after an id, those of the scope, newest first. */
  newestTransactions(scope: Scope, after: { readonly id: string; readonly limit: number }): Promise<Newest>
  /** The names of agents and sellers, and the purposes of mandates, by their ids; of the account's own alone. */
  findNames(scope: Scope, ids: NamedIds): Promise<ReadonlyMap<string, string>>
  findDecision(transaction: RecordKey): Promise<Decision | undefined>
  listConsoleAgents(scope: Scope, nowMs: number, page: Page): Promise<PageOf<ConsoleAgent>>
  findConsoleAgent(agent: RecordKey, nowMs: number): Promise<ConsoleAgent | undefined>
  listConsoleSellers(scope: Scope, page: Page): Promise<PageOf<ListedSeller>>
  listConsoleKeys(account: { readonly accountId: string }, page: Page): Promise<PageOf<ConsoleKey>>
  search(scope: Scope, text: string, limit: number): Promise<FoundRecord[]>
  readFigures(): Promise<StoreFigures>
  /** The open holds of the whole ledger. Reads all of them. */
  readOpenHolds(): Promise<OpenHolds>
}

/** A session that is about to be kept. */
export interface StoredSession extends SessionKey {
  readonly id: string
  readonly kind: SessionKind | 'set_up_link'
  readonly role: Extract<Role, 'operator' | 'owner'>
  readonly keyId: string | null
  /** The only environment that it sees; both when null. */
  readonly environment: Environment | null
  readonly createdAtMs: number
  readonly usedAtMs: number
  readonly endsAtMs: number
}

export interface SessionKey {
  readonly accountId: string
  /** The SHA-256 of the token. */
  readonly tokenHash: Buffer
}

/** A stop of all agents. */
export interface StopCall {
  /** The same stop again goes on where it ended, and tells the whole of it. */
  readonly stopId: string
  readonly actor: string
  readonly now: () => number
  readonly nextEventId: () => string
}

/** The undo of a stop; of every stop without a `stopId`. */
export type UndoCall = Omit<StopCall, 'stopId'> & { readonly stopId: string | null }

export interface StopOutcome {
  /** The mandates that are paused by the stop: those that it paused now, and before. */
  readonly mandateIds: readonly string[]
  /** How many of them it paused now. */
  readonly pausedNow: number
  /** The holds that it ended, now and before. */
  readonly voidedHolds: number
  /** The mandates that it could not pause yet. */
  readonly failedIds: readonly string[]
}

/** What was counted in memory since the last time. */
export interface Tallies {
  readonly refusals: readonly Refusal[]
  readonly keyUses: readonly {
    readonly accountId: string
    readonly keyId: string
    readonly usedAtMs: number
  }[]
}

/** Failed verifications in one quarter of an hour; they leave no transaction. */
export interface Refusal extends Scope {
  /** The merchant domain. */
  readonly subject: string
  readonly reason: VerificationFailure
  readonly startsAtMs: number
  readonly count: number
}

export interface RefusalQuestion {
  readonly subjects: readonly string[]
  readonly fromMs: number
}

export interface ActivityQuestion {
  readonly dimension: 'all' | 'mandate' | 'reason' | 'domain' | 'seller' | 'seller_total'
  readonly subjects: readonly string[]
  readonly fromMs: number
  /** Adds the quarters of each subject up to one, whose `startsAtMs` is the first of them. */
  readonly isTotal?: boolean
  /** Adds up the quarters in buckets of this width, the first of which begins at `fromMs`. */
  readonly bucketMs?: number
}

export interface Activity {
  readonly subject: string
  readonly startsAtMs: number
  readonly paidCount: number
  readonly paidMicro: MicroUsdc
  readonly approvedCount: number
  readonly deniedCount: number
}

/** What the mandates of a scope add up to, and those whose budgets are nearest to their end. */
export interface Budgets {
  readonly activeMandates: number
  readonly remainingMicro: MicroUsdc
  readonly heldMicro: MicroUsdc
  readonly stoppedMandates: number
  /** At most 10,000 are counted. */
  readonly openHolds: number
  readonly nearest: readonly ConsoleMandate[]
}

export interface ChecklistFacts {
  readonly agent: boolean
  readonly mandate: boolean
  readonly seller: boolean
  readonly proof: boolean
  readonly paid: boolean
}

export interface ConsoleMandate extends Mandate {
  readonly agentName: string
  readonly isAgentRevoked: boolean
  readonly isStopped: boolean
}

export interface MandateFilter {
  readonly agentId?: string | undefined
  readonly status?: ListedStatus | undefined
  /** Part of the purpose, in any case. */
  readonly text?: string | undefined
  readonly nowMs: number
}

export interface Newest {
  readonly items: Transaction[]
  /** Whether there may be more of them than were looked at. */
  readonly isCutOff: boolean
}

/** Ids whose names are wanted. */
export interface NamedIds {
  readonly agents: readonly string[]
  readonly mandates: readonly string[]
  readonly sellers: readonly string[]
}

export interface ConsoleFilter {
  readonly agentId?: string | undefined
  readonly mandateId?: string | undefined
  readonly status?: TransactionStatus | undefined
  readonly merchantDomain?: string | undefined
  readonly direction?: 'sent' | 'received' | undefined
  readonly reasonCode?: string | undefined
  readonly fromMs?: number | undefined
  readonly beforeMs?: number | undefined
}

/** What is known of a decision that was made: limits never change, and what does was written down with it. */
export interface Decision {
  readonly transaction: Transaction
  /** Whether it was received from another account, whose mandate is its own affair. */
  readonly isReceived: boolean
  readonly failedCheck: number | null
  readonly spentBeforeMicro: MicroUsdc | null
  readonly agent: Agent | undefined
  readonly mandate: Mandate | undefined
  /** The hold that a payment captured, and what its mandate had spent and held when it was granted. */
  readonly hold: Hold | undefined
  readonly holdSpentBeforeMicro: MicroUsdc | null
  readonly holdHeldBeforeMicro: MicroUsdc | null
}

export interface ConsoleAgent extends Agent {
  readonly spentMicro: MicroUsdc
  readonly heldMicro: MicroUsdc
  readonly remainingMicro: MicroUsdc
  readonly activeMandates: number
  readonly openHolds: number
  readonly workingKeys: number
}

export interface ConsoleKey extends ApiKey {
  readonly lastUsedAtMs: number | null
  readonly agentName: string | null
}

export interface FoundRecord {
  readonly kind: 'agent' | 'mandate' | 'seller' | 'transaction'
  readonly id: string
  readonly label: string
}

/** How the store is. */
export interface StoreFigures {
  readonly kind: 'sqlite' | 'postgres'
  readonly schemaVersion: number
  readonly waiting: number
  readonly mostWaiting: number
  readonly commits: number
  /** How long the latest transactions took, in milliseconds. */
  readonly commitMs: readonly number[]
  readonly ledgerBytes: number
}

/** The open holds of the whole ledger, with those that have expired and are not released yet. */
export interface OpenHolds {
  readonly count: number
  /** When the first of them expires, or did; null when there is none. */
  readonly firstExpiresAtMs: number | null
}

/** How long a read of the console may take. */
export const consoleQueryMs = 2_000

/** Most reads of the console that wait; one more is turned away. */
export const maxConsoleQueries = 256

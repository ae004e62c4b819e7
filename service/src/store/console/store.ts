import type { ListedStatus } from '@purser/wire/console/mandates'
import type { Checklist } from '@purser/wire/console/overview'
import type { Found } from '@purser/wire/console/search'

import type { MicroUsdc } from '../../domain/money.ts'
import type {
  Account,
  Agent,
  ApiKey,
  AuditEvent,
  Budget,
  Hold,
  Mandate,
  Scope,
  Transaction,
} from '../../domain/records.ts'
import type { ActivityDimension, ActivitySum, SplitDimension, totalsOf } from '../ledger/activity.ts'
import type { KeyUseRow, RefundRow, RefusalRow, RefusedBy, SessionRow } from '../ledger/tables.ts'
import type { MandateVersion, Page, PageOf, RecordKey, TransactionFilter } from '../lists.ts'
import type { BacktestQuestion, BacktestReport } from './backtest.ts'

export type { BacktestExample, BacktestFlips, BacktestReport } from './backtest.ts'

/** Operations for the console only. */
export interface ConsoleOperations {
  /**
   * Records a session, and deletes ended ones of the account. With a set-up link, the session uses it up: resolves to false,
   * and records nothing, if it was used up before or has expired.
   */
  createSession(session: StoredSession, event: AuditEvent | undefined, link?: SessionKey): Promise<boolean>

  /** Extends a session that is used. */
  touchSession(session: SessionKey, usedAtMs: number): Promise<void>

  /** Ends a session once; resolves to whether it existed. */
  endSession(session: SessionKey, event: AuditEvent): Promise<boolean>

  /** Ends a session of the account by its id, once; resolves to whether it existed. */
  endSessionById(
    session: { readonly accountId: string; readonly id: string },
    event: AuditEvent,
  ): Promise<boolean>

  /**
   * Pauses every active mandate of a scope and ends its open holds. A mandate that cannot be paused, for example because its
   * row is locked, does not delay the others: the outcome names it, and `continueStops` retries it.
   */
  stopMandates(scope: Scope, stop: StopCall): Promise<StopOutcome>

  /**
   * Continues stops that could not pause every mandate, or were interrupted; resolves to the number of mandates paused. Records
   * another event for each stop that paused any.
   */
  continueStops(now: () => number): Promise<number>

  /**
   * Resumes the mandates that a stop has paused, or any stop if none is named, but none once another stop has begun. If none is
   * named, also none while a stop goes through the mandates.
   */
  resumeMandates(scope: Scope, undo: UndoCall): Promise<ResumeOutcome>

  /** Writes the summary event of many changes, each of which has its own event. */
  recordEvent(event: AuditEvent): Promise<void>

  /**
   * Adds some payments to the console's sums; resolves to whether more are left. Does nothing if what they add is shorter
   * than `leastLength` characters: the more payments are added at once, the fewer sums change for each.
   */
  addUpActivity(leastLength?: number): Promise<boolean>

  /** Adds the counters from memory. */
  addTallies(tallies: Tallies): Promise<void>
}

/** Queries of the console. They have a time limit, and no payment waits for them. */
export interface ConsoleReads {
  /** A session, unless its key is revoked or its account disabled. It may have timed out: see `sessionEndMs`. */
  findSession(session: SessionKey): Promise<StoredSession | undefined>
  findAccount(account: { readonly id: string } | { readonly idpUserId: string }): Promise<Account | undefined>

  /** The exact sums of some subjects since a time, by quarter of an hour, or by day (UTC) for sellers. */
  readActivity(scope: Scope, question: ActivityQuestion): Promise<Activity[]>
  /** The subjects with most spending since a time, most first. */
  topSubjects(scope: Scope, question: TopQuestion): Promise<string[]>
  /** The sums of a scope's mandates, and the budgets closest to their limits. */
  readBudgets(scope: Scope, nowMs: number): Promise<Budgets>
  /** The number of mandates that a stop has paused and that are still paused, and the number of the last stop. */
  readStopped(scope: Scope): Promise<{ readonly stoppedMandates: number; readonly stopNumber: number }>
  /** The number of approvals that wait for a decision and have not expired. */
  countPendingApprovals(scope: Scope, nowMs: number): Promise<number>
  readChecklist(scope: Scope): Promise<Checklist>
  /** Failed verifications, as far as `addTallies` has recorded them. */
  readRefusals(scope: Scope, question: Pick<ActivityQuestion, 'subjects' | 'fromMs'>): Promise<Refusal[]>

  listConsoleMandates(scope: Scope, filter: MandateFilter, page: Page): Promise<PageOf<ConsoleMandate>>
  findConsoleMandate(mandate: RecordKey): Promise<ConsoleMandate | undefined>
  /** The open holds of a mandate, soonest to expire first. */
  listOpenHolds(mandate: RecordKey, nowMs: number, limit: number): Promise<Hold[]>
  /** Matching transactions, from a bounded number: a page may be short and have a next one. */
  listConsoleTransactions(scope: Scope, filter: ConsoleFilter, page: Page): Promise<PageOf<Transaction>>
  /** The newest transactions of the scope after an id, newest first, from a bounded number of the account's. */
  newestTransactions(scope: Scope, after: { readonly id: string; readonly limit: number }): Promise<Newest>
  /** The names of the account's own agents and sellers, and the purposes of its mandates, by id. */
  findNames(scope: Scope, ids: NamedIds): Promise<ReadonlyMap<string, string>>
  findDecision(transaction: RecordKey): Promise<Decision | undefined>
  /** What other terms would have decided about a mandate's history; undefined if there is no such mandate. */
  backtest(mandate: RecordKey, question: BacktestQuestion): Promise<BacktestReport | undefined>
  listConsoleAgents(scope: Scope, nowMs: number, page: Page): Promise<PageOf<ConsoleAgent>>
  findConsoleAgent(agent: RecordKey, nowMs: number): Promise<ConsoleAgent | undefined>
  listConsoleKeys(account: { readonly accountId: string }, page: Page): Promise<PageOf<ConsoleKey>>
  search(scope: Scope, text: string, limit: number): Promise<Found[]>
  readFigures(): Promise<StoreFigures>
  /** The open holds of the whole ledger. Reads every mandate. */
  readOpenHolds(): Promise<OpenHolds>
}

export interface StoredSession extends SessionRow {
  /** How far the test clock of its account is ahead; absent if it is not. */
  readonly clockOffsetMs?: number
}

export type SessionKey = Pick<SessionRow, 'accountId' | 'tokenHash'>

/** A stop of all agents. */
export interface StopCall {
  /** With the same id, the stop continues, and its outcome includes what it did before. */
  readonly stopId: string
  readonly actor: string
  readonly now: () => number
  readonly nextEventId: () => string
}

/** The undo of a stop, or of every stop if `stopId` is null. */
export type UndoCall = Omit<StopCall, 'stopId'> & {
  readonly stopId: string | null
  /** The number of the last stop, if the caller knows it. */
  readonly stopNumber?: number | null
}

export interface StopOutcome {
  /** The mandates that the stop has paused, in all attempts. */
  readonly mandateIds: readonly string[]
  readonly pausedNow: number
  /** The number of holds that it has ended, in all attempts. */
  readonly voidedHolds: number
  /** Mandates that could not be paused yet. */
  readonly failedIds: readonly string[]
  /** Authorized payments of the scope, which a stop leaves until their deadlines. */
  readonly outstanding: { readonly count: number; readonly amountMicro: MicroUsdc }
}

export interface ResumeOutcome {
  /** The mandates that were resumed. */
  readonly mandateIds: readonly string[]
  /** Whether nothing was resumed because another stop than that of the given number is the last. */
  readonly isAnotherStop?: true
  /** Set if others could not be resumed: retry the same undo. */
  readonly failure?: Error
}

/** Counters from memory, since the last call. */
export interface Tallies {
  readonly refusals: readonly Refusal[]
  readonly keyUses: readonly KeyUseRow[]
}

/** Failed verifications in a quarter of an hour, which have no transaction. */
export type Refusal = Omit<RefusalRow, 'addedBy'>

export interface ActivityQuestion {
  readonly dimension: ActivityDimension
  readonly subjects: readonly string[]
  readonly fromMs: number
  /** Only items that started before this time. */
  readonly untilMs?: number
  /** Returns one total per subject, with the start of its first quarter. */
  readonly isTotal?: boolean
  /** Returns buckets of this width, the first of which starts at `fromMs`. */
  readonly bucketMs?: number
}

export interface TopQuestion {
  readonly dimension: SplitDimension
  readonly fromMs: number
  readonly limit: number
}

export type Activity = Readonly<Pick<ActivitySum, 'subject' | 'startsAtMs'> & ReturnType<typeof totalsOf>>

export interface Budgets {
  readonly activeMandates: number
  readonly remainingMicro: MicroUsdc
  readonly heldMicro: MicroUsdc
  readonly stoppedMandates: number
  /** Shared budgets. */
  readonly frozenBudgets: number
  /** At most 10,000 are counted. */
  readonly openHolds: number
  /** Authorized payments, of mandates in any state. */
  readonly authorized: { readonly count: number; readonly amountMicro: MicroUsdc }
  readonly nearest: readonly ConsoleMandate[]
  readonly full: FullLimits
}

/** Active mandates and shared budgets with a limit that admits no payment, of the 1,000 of each that changed last. */
export interface FullLimits {
  readonly mandates: number
  readonly budgets: number
  /** Up to five of them; the name of a mandate is its purpose. */
  readonly named: readonly {
    readonly scope: 'mandate' | 'budget'
    readonly id: string
    readonly name: string
  }[]
}

export interface ConsoleMandate extends Mandate {
  readonly agentName: string
  readonly isAgentRevoked: boolean
  readonly isStopped: boolean
}

export interface MandateFilter {
  readonly agentId?: string | undefined
  /** A shared budget above it, at any level. */
  readonly budgetId?: string | undefined
  readonly status?: ListedStatus | undefined
  /** Part of the purpose, ignoring case. */
  readonly text?: string | undefined
  readonly nowMs: number
}

export interface Newest {
  readonly items: Transaction[]
  /** The oldest id that was read, of either environment, if there may be more; undefined if all were read. */
  readonly readDownTo: string | undefined
}

/** Ids whose names are wanted. */
export type NamedIds = Readonly<Record<'agents' | 'mandates' | 'sellers', readonly string[]>>

export interface ConsoleFilter extends TransactionFilter {
  readonly direction?: 'sent' | 'received' | undefined
  readonly reasonCode?: string | undefined
}

/** The facts of a past decision. Facts that change were recorded with it. */
export interface Decision {
  readonly transaction: Transaction
  /** Whether it was received from another account, whose mandate is not disclosed. */
  readonly isReceived: boolean
  readonly failedCheck: number | null
  readonly spentBeforeMicro: MicroUsdc | null
  readonly agent: Agent | undefined
  readonly mandate: Mandate | undefined
  /** The version of its terms that was checked; undefined if it was never amended. */
  readonly version: MandateVersion | undefined
  /** The shared budgets that were checked, nearest first. */
  readonly budgets: readonly Pick<Budget, 'id' | 'name'>[]
  /** What checks 10 to 12 refused. */
  readonly refusedBy: RefusedBy | null
  /** The hold of a payment, and what its mandate had spent and held when the proof was issued. */
  readonly hold: Hold | undefined
  readonly holdSpentBeforeMicro: MicroUsdc | null
  readonly holdHeldBeforeMicro: MicroUsdc | null
  /** The refunds of a payment, oldest first. */
  readonly refunds: readonly Refund[]
  /** What is left to refund, if the account has collected the payment; null otherwise. */
  readonly refundableMicro: MicroUsdc | null
}

export type Refund = Pick<RefundRow, 'id' | 'amountText' | 'reason' | 'createdAtMs'>

export interface ConsoleAgent extends Agent, Pick<Mandate, 'spentMicro' | 'heldMicro' | 'authorizedMicro'> {
  readonly remainingMicro: MicroUsdc
  readonly activeMandates: number
  readonly openHolds: number
  readonly authorizedPayments: number
  readonly workingKeys: number
}

export interface ConsoleKey extends ApiKey {
  readonly lastUsedAtMs: number | null
  readonly agentName: string | null
}

export interface StoreFigures {
  readonly kind: 'sqlite' | 'postgres'
  readonly schemaVersion: number
  readonly waiting: number
  readonly maxWaiting: number
  readonly commits: number
  /** The durations of the latest transactions. */
  readonly commitMs: readonly number[]
  readonly ledgerBytes: number
}

/** The open holds of the whole ledger, including expired ones that are not released yet. */
export interface OpenHolds {
  readonly count: number
  /** The earliest expiry, which may be past; null if there is no hold. */
  readonly firstExpiresAtMs: number | null
}

/** Time limit for a query of the console. */
export const consoleQueryMs = 2_000

/** Max waiting queries of the console; more are refused. */
export const maxConsoleQueries = 256

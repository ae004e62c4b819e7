// Longer than 400 lines: how payments are counted in mandates, limits and budgets is decided here only.
import type { ProofStatus } from '@purser/wire/payments'

import {
  addToTally,
  budgetPathOf,
  reportPeriodAt,
  takeFromTally,
  takeTally,
  type Committed,
  type CountedLimit,
  type ExceededLimit,
  type Limit,
  type LimitFacts,
  type Tally,
} from '../../../domain/limits.ts'
import { unchangedLimits } from '../../../domain/limit-terms.ts'
import { addMicro, subtractMicro, type MicroUsdc } from '../../../domain/money.ts'
import { refusalByTerms } from '../../../domain/collection.ts'
import { validityWindowMs } from '../../../domain/proof.ts'
import { subjectOf } from '../../../domain/subjects.ts'
import {
  bookedBySubject,
  maxClockDifferenceMs,
  ofLimits,
  tallyBooked,
  type Booked,
} from './limits/booked-before.ts'
import { lock, look, put, type Change, type Facts, type Read } from '../operation.ts'
import {
  budgets,
  budgetUsage,
  mandates,
  subjectUsage,
  type AgentRow,
  type BudgetUsageRow,
  type MandateRow,
  type MandateUsage,
  type PaymentRow,
  type SubjectUsageRow,
} from '../tables.ts'
import { statusOf } from './payment-rows.ts'

/** What limits need to know about a payment. */
export type BookedPayment = Pick<
  PaymentRow,
  'amountMicro' | 'resourceUrl' | 'issuedAtMs' | 'bookedAtMs' | 'budgetPath'
>

/** The columns of a payment that say where it was booked, and what had ended before. */
export type Booking = Pick<PaymentRow, 'bookedAtMs' | 'budgetPath' | 'agentEndedAtMs'>

type Agent = Pick<AgentRow, 'budgetPath' | 'endedAtMs'>

/**
 * The reads of `Bookings` for a locked mandate: the shared budgets and the counters per subject that its payments count in.
 * Empty for a mandate that never had a limit or a shared budget.
 *
 * `payments` are those that end or move. For a new payment, pass its agent and `newPayment`.
 */
export function bookingReads(
  mandate: MandateRow,
  payments: readonly BookedPayment[],
  added?: { readonly agent: Agent | undefined; readonly resourceUrl: string },
): readonly Read[] {
  if (!isCounted(mandate, added?.agent)) return []
  const { accountId, usage } = mandate
  const budgetIds = new Set([
    ...Object.keys(usage?.budgets ?? {}),
    ...payments.flatMap(({ budgetPath }) => budgetPath ?? []),
    ...(added ? budgetPathOf(mandate, added.agent) : []),
  ])
  const subjects = new Set(
    [...payments, ...(added ? [added] : [])].flatMap(({ resourceUrl }) => subjectsOf(mandate, resourceUrl)),
  )
  return [
    ...[...subjects].map((subject) => look(subjectUsage, { accountId, mandateId: mandate.id, subject })),
    ...[...budgetIds]
      .sort()
      .flatMap((id) => [look(budgets, { accountId, id }), lock(budgetUsage, { accountId, budgetId: id })]),
  ]
}

/**
 * The same for a capture or an authorization, which locks no shared budget: the reads of `statusBelowBudgets`, `isEndedLater`
 * and `close`.
 */
export function captureReads(
  mandate: MandateRow,
  payment: BookedPayment,
  agent: Agent | undefined,
): readonly Read[] {
  const reads = bookingReads(mandate, [payment], { agent, resourceUrl: payment.resourceUrl })
  return reads.filter(({ table }) => table !== budgetUsage)
}

/**
 * Whether a budget above the mandate was frozen after its open payments were booked: then they have ended.
 */
export function isEndedByBudget(
  { accountId, usage, openPayments }: MandateRow,
  facts: Pick<Facts, 'row'>,
): boolean {
  if (!usage || openPayments === 0) return false
  return Object.entries(usage.budgets).some(
    ([id, { epoch }]) => facts.row(budgets, { accountId, id })?.epoch !== epoch,
  )
}

/** Max shared budgets in which the open payments of a mandate count: each of its payments reads them all. */
const maxShares = 100

/**
 * Whether the open payments of a mandate count in so many shared budgets that they must end, because the mandate or its agent
 * was assigned to one after the other.
 */
export function countsInTooMany({ usage }: MandateRow): boolean {
  return usage !== null && Object.keys(usage.budgets).length > maxShares
}

/** The status of a payment, which may have ended because a budget was frozen. Needs `bookingReads`. */
export function statusBelowBudgets(
  payment: PaymentRow,
  mandate: MandateRow,
  nowMs: number,
  facts: Pick<Facts, 'row'>,
): ProofStatus {
  const isEnded = payment.status === 'open' && isEndedByBudget(mandate, facts)
  return isEnded ? 'voided' : statusOf(payment, mandate, nowMs)
}

/**
 * The status of a payment, but expired once it cannot be charged any more, although its hold lives on for a while. Needs
 * `captureReads`.
 */
export function statusToCharge(
  payment: PaymentRow,
  mandate: MandateRow,
  agent: Agent | undefined,
  nowMs: number,
  facts: Pick<Facts, 'row'>,
): ProofStatus {
  const status = statusBelowBudgets(payment, mandate, nowMs, facts)
  if (status !== 'open') return status
  const isOver =
    nowMs - payment.issuedAtMs > validityWindowMs ||
    refusalByTerms(mandate, payment) !== undefined ||
    isEndedLater(payment, mandate, agent, facts)
  return isOver ? 'expired' : status
}

/**
 * Whether an open payment has ended with a budget in which it does not count, because the mandate or its agent was assigned to
 * the budget later: the budget is frozen, or was frozen or unfrozen after the payment was issued, even if the agent has left
 * it. Another machine may have issued it.
 */
export function isEndedLater(
  payment: BookedPayment & Pick<PaymentRow, 'agentEndedAtMs'>,
  mandate: MandateRow,
  agent: Agent | undefined,
  facts: Pick<Facts, 'row'>,
): boolean {
  const { accountId } = mandate
  const bookedAtMs = payment.bookedAtMs ?? payment.issuedAtMs
  const isUpTo = (endedAtMs: number) => endedAtMs > 0 && bookedAtMs <= endedAtMs + maxClockGapMs
  const endedAtMs = agent?.endedAtMs ?? 0
  // A payment that was issued after the agent left a budget has not ended with it.
  if (endedAtMs !== (payment.agentEndedAtMs ?? 0) && isUpTo(endedAtMs)) return true
  return budgetPathOf(mandate, agent).some((id) => {
    if (payment.budgetPath?.includes(id)) return false
    const budget = facts.row(budgets, { accountId, id })
    return budget !== undefined && (budget.frozenAtMs !== null || isUpTo(budget.endedAtMs ?? 0))
  })
}

/** Max difference between the clocks of two machines. */
const maxClockGapMs = 10_000

/** Whether payments of a mandate count in anything except its total budget. */
export function isCounted(mandate: MandateRow, agent?: Agent): boolean {
  const { limits, budgetPath, usage } = mandate
  return limits !== null || budgetPath !== null || usage !== null || (agent?.budgetPath ?? null) !== null
}

function subjectsOf({ limits }: MandateRow, resourceUrl: string): readonly string[] {
  const kinds = new Set((limits ?? []).flatMap(({ per }) => per ?? []))
  return [...kinds].map((per) => subjectOf(per, resourceUrl))
}

const unused: MandateUsage = { bookedAtMs: 0, counted: {}, open: {}, budgets: {} }

/**
 * Changes what the payments of one mandate hold, spend and count in limits: every operation that issues, captures or ends a
 * payment goes through it. The mandate must be locked, and `bookingReads` read.
 *
 * @example
 * const bookings = new Bookings(mandate, facts)
 * const { released } = releaseExpired(bookings, facts, nowMs)
 * return { outcome: released, changes: bookings.changes }
 */
export class Bookings {
  readonly #facts: Facts
  readonly #before: MandateRow
  readonly #subjects = new Map<string, SubjectUsageRow>()
  readonly #budgets: Map<string, BudgetUsageRow>
  readonly #ofPayments: Change[] = []
  /** The mandate after the changes so far. Its other columns may be changed too. */
  mandate: MandateRow

  /** An operation that changes several mandates of an account passes one map of budgets to all of them. */
  constructor(mandate: MandateRow, facts: Facts, budgets = new Map<string, BudgetUsageRow>()) {
    this.#before = mandate
    this.mandate = mandate
    this.#facts = facts
    this.#budgets = budgets
  }

  get #usage(): MandateUsage {
    return this.mandate.usage ?? unused
  }

  set #usage(usage: MandateUsage) {
    this.mandate = { ...this.mandate, usage }
  }

  /** Adds what changes in the rows of payments. */
  add(...changes: readonly Change[]): void {
    this.#ofPayments.push(...changes)
  }

  /** The rows that have changed: payments, the mandate, and what its payments count in. */
  get changes(): readonly Change[] {
    return [
      ...this.#ofPayments,
      ...(this.mandate === this.#before ? [] : [put(mandates, this.mandate)]),
      ...[...this.#subjects.values()].map((row) => put(subjectUsage, row)),
      ...[...this.#budgets.values()].map((row) => put(budgetUsage, row)),
    ]
  }

  /** When a payment is booked now: never before the last one, whatever the clock says. */
  bookingTimeAt(nowMs: number, agent: Agent | undefined): number {
    if (!isCounted(this.mandate, agent)) return nowMs
    const budgetTimes = budgetPathOf(this.mandate, agent).map((id) => this.#budgetUsage(id).bookedAtMs)
    return Math.max(nowMs, this.#usage.bookedAtMs, ...budgetTimes)
  }

  /** What checks 10 and 11 compare for a new payment; undefined if nothing is counted. */
  limitFacts(
    { resourceUrl, nowMs }: { readonly resourceUrl: string; readonly nowMs: number },
    agent: Agent | undefined,
  ): LimitFacts | undefined {
    if (!isCounted(this.mandate, agent)) return undefined
    return {
      atMs: this.bookingTimeAt(nowMs, agent),
      own: this.#limitsFor(resourceUrl),
      budgets: this.#budgetsFor(agent),
    }
  }

  #limitsFor(resourceUrl: string): readonly CountedLimit[] {
    return (this.mandate.limits ?? []).map((limit) => {
      const { counted } =
        limit.per === null ? this.#usage : this.#subjectUsage(subjectOf(limit.per, resourceUrl))
      return { limit, tally: counted }
    })
  }

  #budgetsFor(agent: Agent | undefined): LimitFacts['budgets'] {
    const { accountId } = this.mandate
    return budgetPathOf(this.mandate, agent).flatMap((id) => {
      const budget = this.#facts.row(budgets, { accountId, id })
      if (!budget) return []
      const { counted: tally } = this.#budgetUsage(id)
      const limits = budget.limits.map((limit) => ({ limit, tally }))
      return [{ id, name: budget.name, isFrozen: budget.frozenAtMs !== null, limits }]
    })
  }

  /** Holds the amount of a new payment, and books it. Returns the columns that the payment keeps. */
  hold(
    payment: Pick<PaymentRow, 'amountMicro' | 'resourceUrl' | 'issuedAtMs' | 'expiresAtMs'>,
    agent: Agent | undefined,
  ): Booking {
    const { amountMicro, expiresAtMs } = payment
    const { heldMicro, openPayments, releasedUntilMs } = this.mandate
    const atMs = this.bookingTimeAt(payment.issuedAtMs, agent)
    const path = budgetPathOf(this.mandate, agent)
    this.mandate = {
      ...this.mandate,
      heldMicro: addMicro(heldMicro, amountMicro),
      openPayments: openPayments + 1,
      // It may be the next one to expire.
      releasedUntilMs: openPayments === 0 ? expiresAtMs - 1 : Math.min(releasedUntilMs, expiresAtMs - 1),
    }
    const bookedAtMs = atMs === payment.issuedAtMs ? null : atMs
    const agentEndedAtMs = agent?.endedAtMs || null
    if (!isCounted(this.mandate, agent)) return { bookedAtMs, budgetPath: null, agentEndedAtMs }
    // The epochs of budgets matter only for open payments.
    const shares = openPayments > 0 ? { ...this.#usage.budgets } : {}
    for (const id of path) {
      const { accountId } = this.mandate
      const epoch = this.#facts.row(budgets, { accountId, id })?.epoch ?? 0
      shares[id] ??= { epoch, open: {} }
      this.#budgets.set(id, { ...this.#budgetUsage(id), bookedAtMs: atMs })
    }
    const aheadMs = atMs - payment.issuedAtMs
    const isFurthest = aheadMs > (this.#usage.aheadMs ?? maxClockDifferenceMs)
    this.#usage = { ...this.#usage, bookedAtMs: atMs, budgets: shares, ...(isFurthest && { aheadMs }) }
    const add: TallyChange = (tally, limit) => addToTally(tally, limit, atMs, { amountMicro, count: 1 })
    this.#changeTallies(payment.resourceUrl, path, { counted: add, open: add })
    return { bookedAtMs, budgetPath: path.length === 0 ? null : path, agentEndedAtMs }
  }

  /**
   * The exceeded limits that have not been reported in their current period; marks them as reported. Needs
   * the reads of the payment that exceeds them.
   */
  report(exceeded: readonly ExceededLimit[], atMs: number): readonly ExceededLimit[] {
    return exceeded.filter((one) => {
      const { accountId, limits } = this.mandate
      const ofBudget = one.scope === 'budget' ? this.#budgetUsage(one.scopeId) : undefined
      const among = ofBudget ? this.#facts.row(budgets, { accountId, id: one.scopeId })?.limits : limits
      const window = among?.find(({ id }) => id === one.id)?.window
      if (window === undefined) return false
      const reported = (ofBudget ?? this.#usage).reported ?? {}
      const period = reportPeriodAt(window, atMs)
      if (reported[one.id] === period) return false
      const raised = { ...reported, [one.id]: period }
      if (ofBudget) this.#budgets.set(one.scopeId, { ...ofBudget, reported: raised })
      else this.#usage = { ...this.#usage, reported: raised }
      return true
    })
  }

  /**
   * Ends an open payment of the mandate's epoch. If it is released, it no longer counts in limits. If it is spent or
   * authorized, what counts does not change, except that a new epoch no longer ends it; that needs only `captureReads`.
   */
  close(payment: BookedPayment, { to }: { readonly to: 'released' | 'spent' | 'authorized' }): void {
    const { amountMicro } = payment
    const { spentMicro, heldMicro, openPayments, authorizedMicro, authorizedPayments } = this.mandate
    this.mandate = {
      ...this.mandate,
      spentMicro: to === 'spent' ? addMicro(spentMicro, amountMicro) : spentMicro,
      authorizedMicro: to === 'authorized' ? addMicro(authorizedMicro, amountMicro) : authorizedMicro,
      authorizedPayments: to === 'authorized' ? authorizedPayments + 1 : authorizedPayments,
      heldMicro: subtractMicro(heldMicro, amountMicro),
      openPayments: openPayments - 1,
    }
    const open = takeOf(payment, { amountMicro, count: 1 })
    const changes = to === 'released' ? { counted: open, open } : { open }
    this.#changeTallies(payment.resourceUrl, payment.budgetPath ?? [], changes)
  }

  /** Ends an authorized payment: spends part of its amount, or none, and gives back the rest. */
  settle(payment: BookedPayment, { spentMicro }: { readonly spentMicro: MicroUsdc }): void {
    this.mandate = {
      ...this.mandate,
      spentMicro: addMicro(this.mandate.spentMicro, spentMicro),
      authorizedMicro: subtractMicro(this.mandate.authorizedMicro, payment.amountMicro),
      authorizedPayments: this.mandate.authorizedPayments - 1,
    }
    const amountMicro = subtractMicro(payment.amountMicro, spentMicro)
    // The whole amount may be spent without the locks of shared budgets.
    if (amountMicro > 0n) this.#giveBack(payment, { amountMicro, count: spentMicro > 0n ? 0 : 1 })
  }

  /**
   * Refunds part of what a payment has charged: it may be spent again. In limits, it is given back only to
   * the period in which the payment was booked.
   */
  refund(payment: BookedPayment, { amountMicro }: Pick<PaymentRow, 'amountMicro'>): void {
    this.mandate = { ...this.mandate, spentMicro: subtractMicro(this.mandate.spentMicro, amountMicro) }
    this.#giveBack(payment, { amountMicro, count: 0 })
  }

  /**
   * Gives back what a payment no longer uses: all of an authorized payment that is not captured, or only an
   * amount, for the rest of a partial capture or a refund. Gives back nothing if its period is over.
   */
  #giveBack(payment: BookedPayment, back: Committed): void {
    this.#changeTallies(payment.resourceUrl, payment.budgetPath ?? [], { counted: takeOf(payment, back) })
  }

  /** Ends all open payments of the mandate, however many, by starting a new epoch. */
  endAll(): void {
    const { epoch, usage } = this.mandate
    this.mandate = {
      ...this.mandate,
      epoch: epoch + 1,
      heldMicro: 0n as MicroUsdc,
      openPayments: 0,
    }
    if (usage === null) return
    for (const [id, { open }] of Object.entries(usage.budgets)) {
      const own = this.#budgetUsage(id)
      this.#budgets.set(id, { ...own, counted: takeTally(own.counted, open) })
    }
    // Counters per subject notice the new epoch when they are next used.
    this.#usage = { ...usage, counted: takeTally(usage.counted, usage.open), open: {}, budgets: {} }
  }

  /** Counts the payments that were booked before some limits of the mandate were added. */
  countEarlier(added: readonly Limit[], booked: readonly Booked[], atMs: number): void {
    const together = added.filter(({ per }) => per === null)
    const tallies = tallyBooked(this.#usage, together, booked, atMs)
    this.#usage = { ...this.#usage, ...tallies, bookedAtMs: atMs }
    for (const per of ['seller', 'resource'] as const) {
      const apart = added.filter((limit) => limit.per === per)
      if (apart.length === 0) continue
      this.#facts.each([...bookedBySubject(per, booked)], ([subject, own]) => {
        const row = this.#subjectUsage(subject)
        this.#subjects.set(subject, { ...row, ...tallyBooked(row, apart, own, atMs) })
      })
    }
  }

  /**
   * Drops the counts of limits that the mandate no longer has. Counters per subject drop them when they are next used. A limit
   * that is changed is reported again.
   */
  keepCountsOf(limits: readonly Limit[] | null): void {
    const { usage, limits: before } = this.mandate
    if (!usage) return
    const { counted, open, reported } = usage
    const unchanged = unchangedLimits(limits ?? [], before ?? [])
    this.#usage = {
      ...usage,
      counted: ofLimits(counted, limits),
      open: ofLimits(open, limits),
      ...(reported && { reported: ofLimits(reported, unchanged) }),
    }
  }

  /** Changes what is counted in every limit that a payment counts in, and the open part of it. */
  #changeTallies(resourceUrl: string, budgetPath: readonly string[], changes: TallyChanges): void {
    const { accountId, limits, usage } = this.mandate
    // It was issued before the mandate had a limit or a budget.
    if (usage === null) return
    for (const limit of limits ?? []) {
      if (limit.per === null) this.#changeOwn(limit, changes)
      else this.#changeSubject(subjectOf(limit.per, resourceUrl), limit, changes)
    }
    for (const id of budgetPath) {
      for (const limit of this.#facts.row(budgets, { accountId, id })?.limits ?? []) {
        this.#changeBudget(id, limit, changes)
      }
    }
  }

  #changeOwn(limit: Limit, changes: TallyChanges): void {
    const changed = changeBoth(this.#usage, limit, changes)
    if (changed !== this.#usage) this.#usage = changed
  }

  #changeSubject(subject: string, limit: Limit, changes: TallyChanges): void {
    const row = this.#subjectUsage(subject)
    const changed = changeBoth(row, limit, changes)
    if (changed !== row) this.#subjects.set(subject, changed)
  }

  #changeBudget(id: string, limit: Limit, { counted: changeCounted, open: changeOpen }: TallyChanges): void {
    if (changeCounted) {
      const row = this.#budgetUsage(id)
      const counted = changeCounted(row.counted, limit)
      if (counted !== row.counted) this.#budgets.set(id, { ...row, counted })
    }
    const shares = this.#usage.budgets
    const own = shares[id]
    if (!own || !changeOpen) return
    const open = changeOpen(own.open, limit)
    if (open !== own.open) this.#usage = { ...this.#usage, budgets: { ...shares, [id]: { ...own, open } } }
  }

  /** The counters of a subject. Counters of an earlier epoch drop their open part. */
  #subjectUsage(subject: string): SubjectUsageRow {
    const { epoch } = this.mandate
    const row = this.#subjects.get(subject) ?? this.#storedSubject(subject)
    if (row.epoch === epoch) return row
    return { ...row, epoch, counted: takeTally(row.counted, row.open), open: {} }
  }

  #storedSubject(subject: string): SubjectUsageRow {
    const { accountId, id: mandateId, epoch, limits } = this.mandate
    const key = { accountId, mandateId, subject }
    const row = this.#facts.row(subjectUsage, key)
    if (!row) return { ...key, epoch, counted: {}, open: {} }
    return { ...row, counted: ofLimits(row.counted, limits), open: ofLimits(row.open, limits) }
  }

  #budgetUsage(budgetId: string): BudgetUsageRow {
    const { accountId } = this.mandate
    const key = { accountId, budgetId }
    return (
      this.#budgets.get(budgetId) ??
      this.#facts.lockedRow(budgetUsage, key) ?? { ...key, bookedAtMs: 0, counted: {}, reported: null }
    )
  }
}

type TallyChange = (tally: Tally, limit: Limit) => Tally

interface TallyChanges {
  /** What counts. */
  readonly counted?: TallyChange
  /** The part that belongs to open payments. */
  readonly open?: TallyChange
}

function changeBoth<Counters extends { readonly counted: Tally; readonly open: Tally }>(
  counters: Counters,
  limit: Limit,
  changes: TallyChanges,
): Counters {
  const counted = changes.counted?.(counters.counted, limit) ?? counters.counted
  const open = changes.open?.(counters.open, limit) ?? counters.open
  return counted === counters.counted && open === counters.open ? counters : { ...counters, counted, open }
}

function takeOf({ bookedAtMs, issuedAtMs }: BookedPayment, back: Committed): TallyChange {
  return (tally, limit) => takeFromTally(tally, limit, bookedAtMs ?? issuedAtMs, back)
}

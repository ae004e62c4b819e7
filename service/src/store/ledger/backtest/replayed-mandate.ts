import { addMicro, subtractMicro, type MicroUsdc } from '../../../domain/money.ts'
import { checkPolicy, type PolicyDecision, type PolicyPayment } from '../../../domain/policy.ts'
import { subjectOf } from '../../../domain/subjects.ts'
import type { Change, Facts, RangeRead } from '../operation.ts'
import { Bookings } from '../operations/bookings.ts'
import { releaseExpired } from '../operations/ended-payments.ts'
import { keyText, type Row, type Table, type TableKey, type TableRow } from '../table.ts'
import {
  mandates,
  payments,
  subjectUsage,
  type AgentRow,
  type EvaluationRow,
  type MandateRow,
  type PaymentRow,
  type SubjectUsageRow,
} from '../tables.ts'

/**
 * A mandate in memory on which a history is replayed, with the ledger's own decisions and bookings. Shared
 * budgets are not replayed, because they also count other mandates.
 */
export class ReplayedMandate {
  readonly #agent: AgentRow
  #mandate: MandateRow
  readonly #subjects = new Map<string, SubjectUsageRow>()
  /** By nonce, soonest to expire first. */
  readonly #open = new Map<string, ReplayedPayment>()
  readonly #authorized = new Map<string, ReplayedPayment>()
  /** By subject. */
  readonly #paidSellers = new Set<string>()

  constructor(mandate: MandateRow, agent: AgentRow, spentMicro: MicroUsdc) {
    this.#agent = { ...agent, status: 'active', budgetPath: null, endedAtMs: 0 }
    this.#mandate = {
      ...mandate,
      status: 'active',
      spentMicro,
      heldMicro: 0n as MicroUsdc,
      authorizedMicro: 0n as MicroUsdc,
      authorizedPayments: 0,
      openPayments: 0,
      releasedUntilMs: 0,
      epoch: 0,
      usage: null,
      budgetPath: null,
    }
  }

  /** The decision on a proof, which a person may have approved. */
  decideProof(payment: Asked, atMs: number, isApproved = false): PolicyDecision {
    return this.#decide({ ...payment, countHolds: true }, atMs, isApproved)
  }

  /** The decision on an evaluation. */
  decideEvaluation(evaluation: EvaluationRow): PolicyDecision {
    const seller = { merchantDomain: evaluation.merchantDomain ?? '' }
    return this.#decide({ ...evaluation, seller, countHolds: false }, evaluation.createdAtMs)
  }

  #decide(payment: PolicyPayment, atMs: number, isApproved = false): PolicyDecision {
    this.#change((bookings) => releaseExpired(bookings, this.#facts, atMs))
    const limits = new Bookings(this.#mandate, this.#facts).limitFacts(
      { resourceUrl: payment.resourceUrl, nowMs: atMs },
      this.#agent,
    )
    const approval = { isKnownSeller: this.#isKnownSeller(payment.resourceUrl), isApproved }
    return checkPolicy({ agent: this.#agent, mandate: this.#mandate, limits, approval }, payment, atMs)
  }

  /** Whether the seller was paid before, or may still be paid. */
  #isKnownSeller(resourceUrl: string): boolean {
    if (!this.#mandate.approval?.firstPurchaseAtSeller) return false
    const subject = subjectOf('seller', resourceUrl)
    if (this.#paidSellers.has(subject)) return true
    return [...this.#open.values(), ...this.#authorized.values()].some(
      (payment) => subjectOf('seller', payment.resourceUrl) === subject,
    )
  }

  /** Holds the amount of a proof, or reserves it if it was authorized: then no stop ends it. */
  issue(payment: IssuedPayment): void {
    const isAuthorized = payment.captureDeadlineMs !== null
    const status = isAuthorized ? 'authorized' : 'open'
    const { epoch } = this.#mandate
    this.#change((bookings) => {
      const held = { ...payment, ...bookings.hold(payment, this.#agent), status, epoch } as const
      if (isAuthorized) bookings.close(held, { to: 'authorized' })
      const kept = isAuthorized ? this.#authorized : this.#open
      kept.set(held.nonce, held)
    })
  }

  /** The payment with a nonce if it is open or authorized; from then on it is neither. */
  #take(nonce: string): ReplayedPayment | undefined {
    const payment = this.#open.get(nonce) ?? this.#authorized.get(nonce)
    this.#open.delete(nonce)
    this.#authorized.delete(nonce)
    return payment
  }

  /**
   * Charges a payment. One that was issued before the history begins is not open here, and is only added to
   * what is spent.
   */
  charge({ nonce, resourceUrl }: Pick<PaymentRow, 'nonce' | 'resourceUrl'>, amountMicro: MicroUsdc): void {
    this.#paidSellers.add(subjectOf('seller', resourceUrl))
    const payment = this.#take(nonce)
    if (!payment) {
      this.#addSpent(amountMicro)
      return
    }
    this.#change((bookings) =>
      payment.status === 'authorized'
        ? bookings.settle(payment, { spentMicro: amountMicro })
        : bookings.close(payment, { to: 'spent' }),
    )
  }

  #addSpent(amountMicro: MicroUsdc): void {
    this.#mandate = { ...this.#mandate, spentMicro: addMicro(this.#mandate.spentMicro, amountMicro) }
  }

  /** Ends a payment without charging it. */
  end(nonce: string): void {
    const payment = this.#take(nonce)
    if (!payment) return
    this.#change((bookings) =>
      payment.status === 'authorized'
        ? bookings.settle(payment, { spentMicro: 0n as MicroUsdc })
        : bookings.close(payment, { to: 'released' }),
    )
  }

  /**
   * Gives back part of what a payment spent. One that was charged before the history begins counts in no
   * window, only in what is spent.
   */
  refund(payment: PaymentRow | undefined, amountMicro: MicroUsdc): void {
    if (payment) this.#change((bookings) => bookings.refund(payment, { amountMicro }))
    else this.#addSpent(subtractMicro(0n as MicroUsdc, amountMicro))
  }

  /** Ends all open payments. */
  stop(atMs: number): void {
    this.#change((bookings) => {
      releaseExpired(bookings, this.#facts, atMs)
      bookings.endAll()
    })
    this.#open.clear()
  }

  #change(act: (bookings: Bookings) => void): void {
    const bookings = new Bookings(this.#mandate, this.#facts)
    act(bookings)
    this.#apply(bookings.changes)
    // Authorized payments end by events, so the rows of `overdueOf` are not read.
    this.#mandate = { ...this.#mandate, authorizedPayments: 0 }
  }

  readonly #facts: Facts = {
    isRerun: false,
    written: () => undefined,
    row: (table, key) => this.#find(table, key),
    lockedRow: (table, key) => this.#find(table, key),
    rows: <Of extends Table>(range: RangeRead<Of>) => this.#expiringIn(range) as unknown as TableRow<Of>[],
    // All of them are in memory.
    read: () => undefined,
    each: (items, work) => items.forEach(work),
  }

  #find<Of extends Table>(table: Of, key: TableKey<Of>): TableRow<Of> | undefined {
    const row: unknown = table.name === mandates.name ? this.#mandate : this.#subjectUsage(table, key)
    return row as TableRow<Of> | undefined
  }

  #subjectUsage(table: Table, key: Row): SubjectUsageRow | undefined {
    return table.name === subjectUsage.name ? this.#subjects.get(keyText(table, key)) : undefined
  }

  /** The open payments that expire in a range. */
  #expiringIn({ after = 0, upTo = Infinity, limit }: RangeRead): ReplayedPayment[] {
    const found: ReplayedPayment[] = []
    for (const payment of this.#open.values()) {
      if (found.length >= limit || payment.expiresAtMs > Number(upTo)) break
      if (payment.expiresAtMs > Number(after)) found.push(payment)
    }
    return found
  }

  #apply(changes: readonly Change[]): void {
    for (const { table, row } of changes) {
      if (table.name === mandates.name) this.#mandate = row as unknown as MandateRow
      else if (table.name === subjectUsage.name)
        this.#subjects.set(keyText(table, row), row as unknown as SubjectUsageRow)
      else if (table.name === payments.name && row['status'] === 'expired')
        this.#open.delete(String(row['nonce']))
    }
  }
}

type Asked = Pick<PaymentRow, 'amountText' | 'amountMicro' | 'resourceUrl' | 'category'>

/** What a replay needs to know about a payment. */
type IssuedPayment = Pick<
  PaymentRow,
  'nonce' | 'amountMicro' | 'resourceUrl' | 'issuedAtMs' | 'expiresAtMs' | 'captureDeadlineMs'
>

type ReplayedPayment = IssuedPayment & Pick<PaymentRow, 'status' | 'epoch' | 'bookedAtMs' | 'budgetPath'>

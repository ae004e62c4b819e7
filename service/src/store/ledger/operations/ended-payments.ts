import type { MicroUsdc } from '../../../domain/money.ts'
import { look, put, range, remove, type Facts, type RangeRead, type Read } from '../operation.ts'
import { authorizations, payments, type MandateRow, type PaymentRow } from '../tables.ts'
import { bookingReads, isEndedByBudget, type Bookings } from './bookings.ts'
import { capturedOf } from './payment-rows.ts'

// Payments that end without a capture: they expire, or all open ones of a mandate end at once.

/** How many expired payments one call releases. The next call releases more. */
const maxReleased = 250

/** How many overdue authorized payments one call releases. */
const maxOverdue = 200

/** How many of the next payments to expire are read, to know until when none can expire. */
const maxUpcoming = 16

/**
 * The first reads of `releaseExpired` and `endPayments`: the mandate's payments that have expired and may still hold amounts, the
 * next ones, authorized ones whose deadline has passed, and the budgets that they count in.
 */
export function expiredReads(mandate: MandateRow, nowMs: number): readonly Read[] {
  return [
    ...(mandate.authorizedPayments > 0 ? [overdueOf(mandate, nowMs)] : []),
    ...(canHaveExpired(mandate, nowMs)
      ? [expiredUpTo(mandate, nowMs, maxReleased), upcomingOf(mandate, nowMs)]
      : []),
    ...bookingReads(mandate, []),
  ]
}

function canHaveExpired({ openPayments, releasedUntilMs }: MandateRow, nowMs: number): boolean {
  return openPayments > 0 && releasedUntilMs < nowMs
}

/** The first authorized payments of a mandate whose deadline has passed. */
function overdueOf({ accountId, id: mandateId }: MandateRow, upTo: number) {
  return range(authorizations, {
    where: { accountId, mandateId },
    orderBy: 'deadlineMs',
    upTo,
    limit: maxOverdue,
  })
}

/** The row that finds an authorized payment by its deadline. */
export function authorizationOf({ accountId, mandateId, captureDeadlineMs, nonce }: PaymentRow) {
  return { accountId, mandateId, deadlineMs: captureDeadlineMs ?? 0, nonce }
}

/** The expired ones. If all that one step would release expire in the same millisecond, more are read. */
function expiredOf(mandate: MandateRow, nowMs: number, facts: Facts) {
  for (let limit = maxReleased; ; limit *= 8) {
    const found = facts.rows(expiredUpTo(mandate, nowMs, limit))
    const isMoreLeft = found.length >= limit
    if (!isMoreLeft || found[0]!.expiresAtMs < found.at(-1)!.expiresAtMs) return { found, isMoreLeft }
  }
}

function expiredUpTo(mandate: MandateRow, nowMs: number, limit: number) {
  return paymentsAfter(mandate, mandate.releasedUntilMs, { upTo: nowMs, limit })
}

function upcomingOf(mandate: MandateRow, nowMs: number) {
  return paymentsAfter(mandate, nowMs, { limit: maxUpcoming })
}

function paymentsAfter(
  { accountId, id: mandateId, epoch }: MandateRow,
  after: number,
  bounds: Pick<RangeRead, 'upTo' | 'limit'>,
) {
  // Payments of earlier epochs hold nothing.
  return range(payments, { where: { accountId, mandateId, epoch }, orderBy: 'expiresAtMs', after, ...bounds })
}

export interface Released {
  readonly released: number
  readonly isMoreLeft: boolean
}

const none: Released = { released: 0, isMoreLeft: false }

/** Releases expired payments of a mandate, open or authorized. */
export function releaseExpired(bookings: Bookings, facts: Facts, nowMs: number): Released {
  facts.read(expiredReads(bookings.mandate, nowMs))
  const overdue = releaseOverdue(bookings, facts, nowMs)
  const expired = releaseExpiredHolds(bookings, facts, nowMs)
  return {
    released: overdue.released + expired.released,
    isMoreLeft: overdue.isMoreLeft || expired.isMoreLeft,
  }
}

function releaseOverdue(bookings: Bookings, facts: Facts, nowMs: number): Released {
  const { mandate } = bookings
  if (mandate.authorizedPayments === 0) return none
  const range = overdueOf(mandate, nowMs)
  const found = facts.rows(range)
  facts.read(found.map((row) => look(payments, row)))
  const overdue = found.flatMap((row) => facts.row(payments, row) ?? [])
  facts.read(bookingReads(mandate, overdue))
  for (const payment of overdue) endPayment(bookings, payment, 'expired', facts)
  return { released: found.length, isMoreLeft: found.length === range.limit }
}

function releaseExpiredHolds(bookings: Bookings, facts: Facts, nowMs: number): Released {
  const { mandate } = bookings
  if (!canHaveExpired(mandate, nowMs)) return none
  const { found, isMoreLeft } = expiredOf(mandate, nowMs, facts)
  // The limit may cut off others of the last millisecond.
  const nextMs = isMoreLeft ? found.at(-1)!.expiresAtMs : nextExpiryOf(mandate, facts, nowMs)
  const expired = found.filter(({ status }) => status === 'open')
  facts.read(bookingReads(mandate, expired))
  for (const payment of expired) {
    bookings.close(payment, { to: 'released' })
    bookings.add(put(payments, { ...payment, status: 'expired' }))
  }
  bookings.mandate = { ...bookings.mandate, releasedUntilMs: nextMs - 1 }
  return { released: expired.length, isMoreLeft }
}

/** No unexpired payment of the mandate expires before this time. */
function nextExpiryOf(mandate: MandateRow, facts: Facts, nowMs: number): number {
  const upcoming = facts.rows(upcomingOf(mandate, nowMs))
  const next = upcoming.find(({ status }) => status === 'open')
  if (next) return next.expiresAtMs
  return upcoming.length < maxUpcoming ? nowMs + 1 : upcoming.at(-1)!.expiresAtMs
}

/** Ends an open payment of the mandate's epoch or an authorized one: its amount is released. */
export function endPayment(
  bookings: Bookings,
  payment: PaymentRow,
  status: 'expired' | 'voided',
  facts: Facts,
): void {
  const ended = { ...payment, status }
  if (payment.status === 'authorized') return endAuthorized(bookings, payment, ended, facts)
  facts.read(bookingReads(bookings.mandate, [payment]))
  bookings.close(payment, { to: 'released' })
  bookings.add(put(payments, ended))
}

/** Ends an authorized payment, which is then `ended`: spends what it has captured, if anything, and gives back the rest. */
export function endAuthorized(
  bookings: Bookings,
  payment: PaymentRow,
  ended: PaymentRow,
  facts: Facts,
): void {
  const deadline = facts.row(authorizations, authorizationOf(payment))
  if (payment.status !== 'authorized' || !deadline) {
    throw new Error(`${payment.nonce} is not authorized, or its deadline is not recorded`)
  }
  const spentMicro = ended.status === 'captured' ? capturedOf(ended) : (0n as MicroUsdc)
  // The whole amount is spent without the locks of shared budgets.
  if (spentMicro < payment.amountMicro) facts.read(bookingReads(bookings.mandate, [payment]))
  bookings.settle(payment, { spentMicro })
  bookings.add(put(payments, ended), remove(authorizations, deadline))
}

/** Ends all open payments of a mandate, however many there are. Returns how many had not expired. */
export function endPayments(bookings: Bookings, facts: Facts, nowMs: number): number {
  facts.read(expiredReads(bookings.mandate, nowMs))
  // What a frozen budget has ended is void, even if it has expired since.
  if (isEndedByBudget(bookings.mandate, facts)) releaseOverdue(bookings, facts, nowMs)
  else releaseExpired(bookings, facts, nowMs)
  const voided = bookings.mandate.openPayments
  bookings.endAll()
  return voided
}

import type { MicroUsdc } from '../../../domain/money.ts'
import { look, put, remove, type Change, type Facts, type RangeRead, type Read } from '../operation.ts'
import { authorizations, payments, type MandateRow, type PaymentRow } from '../tables.ts'
import { authorizationOf, overdueOf } from './authorization-rows.ts'
import { bookingReads, isEndedByBudget, type Bookings } from './bookings.ts'

// Payments that end without a capture: they expire, or all open ones of a mandate end at once.

/** How many expired payments one call releases. The next call releases more. */
const maxReleased = 1_000

/** How many of the next payments to expire are read, to know until when none can expire. */
const maxUpcoming = 16

/**
 * The reads of `releaseExpired` and `endPayments`: the mandate's payments that have expired and may still hold amounts, the
 * next ones, authorized ones whose deadline has passed, and what they count in. Empty while none can have expired and nothing
 * is counted.
 */
export function expiredReads(mandate: MandateRow | undefined, nowMs: number, facts: Facts): readonly Read[] {
  if (!mandate) return []
  const overdue = overdueReads(mandate, nowMs, facts)
  if (!canHaveExpired(mandate, nowMs)) return [...overdue.reads, ...bookingReads(mandate, overdue.known)]
  const expired = expiredOf(mandate, nowMs, facts)
  const found = facts.knows(expired) ? facts.rows(payments, expired) : []
  const open = found.filter(({ status }) => status === 'open')
  const counted = bookingReads(mandate, [...overdue.known, ...open])
  return [...overdue.reads, expired, upcomingOf(mandate, nowMs), ...counted]
}

/** The reads for authorized payments that are overdue, and those of them that are known. */
function overdueReads(
  mandate: MandateRow,
  nowMs: number,
  facts: Facts,
): { readonly reads: readonly Read[]; readonly known: readonly PaymentRow[] } {
  if (mandate.authorizedPayments === 0) return { reads: [], known: [] }
  const range = overdueOf(mandate, nowMs)
  const rows = facts.knows(range) ? facts.rows(authorizations, range) : []
  const looks = rows.map((row) => look(payments, row))
  const known = rows.flatMap((row, index) =>
    facts.knows(looks[index]!) ? (facts.row(payments, row) ?? []) : [],
  )
  return { reads: [range, ...looks], known }
}

function canHaveExpired({ openPayments, releasedUntilMs }: MandateRow, nowMs: number): boolean {
  return openPayments > 0 && releasedUntilMs < nowMs
}

/** The expired ones. If all that one step would release expire in the same millisecond, more are read. */
function expiredOf(mandate: MandateRow, nowMs: number, facts: Facts): RangeRead {
  for (let limit = maxReleased; ; limit *= 8) {
    const range = { ...paymentsAfter(mandate, mandate.releasedUntilMs), upTo: nowMs, limit }
    const found = facts.knows(range) ? facts.rows(payments, range) : []
    if (found.length < limit || found[0]!.expiresAtMs < found.at(-1)!.expiresAtMs) return range
  }
}

function upcomingOf(mandate: MandateRow, nowMs: number): RangeRead {
  return { ...paymentsAfter(mandate, nowMs), limit: maxUpcoming }
}

function paymentsAfter({ accountId, id: mandateId, epoch }: MandateRow, afterMs: number) {
  return {
    kind: 'range',
    table: payments,
    // Payments of earlier epochs hold nothing.
    where: { accountId, mandateId, epoch },
    orderBy: 'expiresAtMs',
    after: afterMs,
    isLocked: false,
  } as const
}

/** The changes of payments that have ended. */
interface Released {
  readonly changes: readonly Change[]
  readonly released: number
  readonly isMoreLeft: boolean
}

/**
 * Releases expired payments of a mandate, open or authorized. Returns the changes of the payments; `bookings` has the others.
 */
export function releaseExpired(bookings: Bookings, facts: Facts, nowMs: number): Released {
  const overdue = releaseOverdue(bookings, facts, nowMs)
  const expired = releaseExpiredHolds(bookings, facts, nowMs)
  return {
    changes: [...overdue.changes, ...expired.changes],
    released: overdue.released + expired.released,
    isMoreLeft: overdue.isMoreLeft || expired.isMoreLeft,
  }
}

function releaseOverdue(bookings: Bookings, facts: Facts, nowMs: number): Released {
  const { mandate } = bookings
  if (mandate.authorizedPayments === 0) return { changes: [], released: 0, isMoreLeft: false }
  const range = overdueOf(mandate, nowMs)
  const found = facts.rows(authorizations, range)
  const changes = found.flatMap((row) => {
    const payment = facts.row(payments, row)
    if (payment?.status !== 'authorized') throw new Error(`${row.nonce} has a deadline and is not authorized`)
    bookings.settle(payment, { spentMicro: 0n as MicroUsdc })
    return [put(payments, { ...payment, status: 'expired' }), remove(authorizations, row)]
  })
  return { changes, released: found.length, isMoreLeft: found.length === range.limit }
}

function releaseExpiredHolds(bookings: Bookings, facts: Facts, nowMs: number): Released {
  const { mandate } = bookings
  if (!canHaveExpired(mandate, nowMs)) return { changes: [], released: 0, isMoreLeft: false }
  const range = expiredOf(mandate, nowMs, facts)
  const found = facts.rows(payments, range)
  const isMoreLeft = found.length >= range.limit
  // The limit may cut off others of the last millisecond.
  const nextMs = isMoreLeft ? found.at(-1)!.expiresAtMs : nextExpiryOf(mandate, facts, nowMs)
  const expired = found.filter(({ status }) => status === 'open')
  for (const payment of expired) bookings.release(payment)
  bookings.mandate = { ...bookings.mandate, releasedUntilMs: nextMs - 1 }
  const changes = expired.map((payment) => put(payments, { ...payment, status: 'expired' }))
  return { changes, released: expired.length, isMoreLeft }
}

/** No unexpired payment of the mandate expires before this time. */
function nextExpiryOf(mandate: MandateRow, facts: Facts, nowMs: number): number {
  const upcoming = facts.rows(payments, upcomingOf(mandate, nowMs))
  const next = upcoming.find(({ status }) => status === 'open')
  if (next) return next.expiresAtMs
  return upcoming.length < maxUpcoming ? nowMs + 1 : upcoming.at(-1)!.expiresAtMs
}

/** The reads of `endOverdue`, besides `bookingReads`. */
export function readsOfOverdue(payment: PaymentRow): readonly Read[] {
  return payment.status === 'authorized' ? [look(authorizations, authorizationOf(payment))] : []
}

/** Ends a payment whose time is over, open or authorized, unless `earlier` changes of the operation have ended it. */
export function endOverdue(
  bookings: Bookings,
  payment: PaymentRow,
  earlier: readonly Change[],
  facts: Facts,
): readonly Change[] {
  if (earlier.some(({ table, row }) => table === payments && row['nonce'] === payment.nonce)) return []
  const ended = put(payments, { ...payment, status: 'expired' })
  if (payment.status === 'open') {
    bookings.release(payment)
    return [ended]
  }
  const deadline = facts.row(authorizations, authorizationOf(payment))
  if (!deadline) throw new Error(`the authorized payment ${payment.nonce} has no deadline`)
  bookings.settle(payment, { spentMicro: 0n as MicroUsdc })
  return [ended, remove(authorizations, deadline)]
}

/** Ends all open payments of a mandate, however many there are. Returns how many, and the changes of expired ones. */
export function endPayments(
  bookings: Bookings,
  facts: Facts,
  nowMs: number,
): { readonly changes: readonly Change[]; readonly voided: number } {
  // What a frozen budget has ended is void, even if it has expired since.
  const release = isEndedByBudget(bookings.mandate, facts) ? releaseOverdue : releaseExpired
  const { changes } = release(bookings, facts, nowMs)
  const voided = bookings.mandate.openPayments
  bookings.endAll()
  return { changes, voided }
}

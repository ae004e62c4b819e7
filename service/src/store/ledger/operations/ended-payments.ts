import { put, type Change, type Facts, type RangeRead, type Read } from '../operation.ts'
import { payments, type MandateRow } from '../tables.ts'
import { bookingReads, type Bookings } from './bookings.ts'

// The ends of open payments that nobody captures: their time is over, or all of a mandate's end at once.

/** How many expired payments one call releases. The next call releases more. */
const maxReleased = 1_000

/** How many of the next payments to expire are read, to know until when none can expire. */
const maxUpcoming = 16

/**
 * The reads of `releaseExpired` and `endPayments`: the mandate's payments that have expired and may still hold amounts, the
 * next ones, and what they count in. Empty while none can have expired and nothing is counted.
 */
export function expiredReads(mandate: MandateRow | undefined, nowMs: number, facts: Facts): readonly Read[] {
  if (!mandate) return []
  if (!canHaveExpired(mandate, nowMs)) return bookingReads(mandate, [])
  const expired = expiredOf(mandate, nowMs, facts)
  const found = facts.knows(expired) ? facts.rows(payments, expired) : []
  const open = found.filter(({ status }) => status === 'open')
  return [expired, upcomingOf(mandate, nowMs), ...bookingReads(mandate, open)]
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

/** Releases expired payments of a mandate. Returns the changes of the payments; `bookings` has the others. */
export function releaseExpired(
  bookings: Bookings,
  facts: Facts,
  nowMs: number,
): { readonly changes: readonly Change[]; readonly released: number; readonly isMoreLeft: boolean } {
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

/** Ends all open payments of a mandate, however many there are. Returns how many, and the changes of expired ones. */
export function endPayments(
  bookings: Bookings,
  facts: Facts,
  nowMs: number,
): { readonly changes: readonly Change[]; readonly voided: number } {
  const { changes } = releaseExpired(bookings, facts, nowMs)
  const voided = bookings.mandate.openPayments
  bookings.endAll()
  return { changes, voided }
}

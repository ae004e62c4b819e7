import { addMicro, subtractMicro } from '../../../domain/money.ts'
import type { ProofStatus } from '@purser/wire/payments'

import { put, type Change, type Facts, type RangeRead } from '../operation.ts'
import { mandates, payments, type MandateRow, type PaymentRow } from '../tables.ts'

/** How many expired payments one call releases. The next call releases more. */
const maxReleased = 1_000

/** How many of the next payments to expire are read, to know until when none can expire. */
const maxUpcoming = 16

/** The status of a payment: one that was open when all open payments of its mandate ended is void. */
export function statusOf(payment: PaymentRow, mandate: MandateRow, nowMs: number): ProofStatus {
  if (payment.status !== 'open') return payment.status
  if (payment.epoch !== mandate.epoch) return 'voided'
  return payment.expiresAtMs > nowMs ? 'open' : 'expired'
}

/**
 * The reads of `releaseExpired`: the mandate's payments that have expired and may still hold amounts, and the next
 * ones. Empty while none can have expired.
 */
export function expiredReads(
  mandate: MandateRow | undefined,
  nowMs: number,
  facts: Facts,
): readonly RangeRead[] {
  if (!mandate || !canHaveExpired(mandate, nowMs)) return []
  return [expiredOf(mandate, nowMs, facts), upcomingOf(mandate, nowMs)]
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

/** The mandate without the held amounts of its expired payments, and the changes that end them. */
export function releaseExpired(
  mandate: MandateRow,
  facts: Facts,
  nowMs: number,
): {
  readonly mandate: MandateRow
  readonly changes: readonly Change[]
  readonly released: number
  readonly isMoreLeft: boolean
} {
  if (!canHaveExpired(mandate, nowMs)) return { mandate, changes: [], released: 0, isMoreLeft: false }
  const range = expiredOf(mandate, nowMs, facts)
  const found = facts.rows(payments, range)
  const isMoreLeft = found.length >= range.limit
  // The limit may cut off others of the last millisecond.
  const nextMs = isMoreLeft ? found.at(-1)!.expiresAtMs : nextExpiryOf(mandate, facts, nowMs)
  const expired = found.filter(({ status }) => status === 'open')
  const released = expired.reduce((left, payment) => releasePayment(left, payment), mandate)
  const changes = expired.map((payment) => put(payments, { ...payment, status: 'expired' }))
  const left = { ...released, releasedUntilMs: nextMs - 1 }
  return {
    mandate: left,
    changes: [...changes, put(mandates, left)],
    released: expired.length,
    isMoreLeft,
  }
}

/** No unexpired payment of the mandate expires before this time. */
function nextExpiryOf(mandate: MandateRow, facts: Facts, nowMs: number): number {
  const upcoming = facts.rows(payments, upcomingOf(mandate, nowMs))
  const next = upcoming.find(({ status }) => status === 'open')
  if (next) return next.expiresAtMs
  return upcoming.length < maxUpcoming ? nowMs + 1 : upcoming.at(-1)!.expiresAtMs
}

/** The mandate without the held amount of an open payment of its epoch, which a capture spends. */
export function releasePayment(
  mandate: MandateRow,
  { amountMicro }: Pick<PaymentRow, 'amountMicro'>,
  { isSpent = false } = {},
): MandateRow {
  return {
    ...mandate,
    spentMicro: isSpent ? addMicro(mandate.spentMicro, amountMicro) : mandate.spentMicro,
    heldMicro: subtractMicro(mandate.heldMicro, amountMicro),
    openPayments: mandate.openPayments - 1,
  }
}

/** The mandate with the held amount of a new payment. */
export function holdPayment(
  mandate: MandateRow,
  { amountMicro, expiresAtMs }: Pick<PaymentRow, 'amountMicro' | 'expiresAtMs'>,
): MandateRow {
  return {
    ...mandate,
    heldMicro: addMicro(mandate.heldMicro, amountMicro),
    openPayments: mandate.openPayments + 1,
    // It may be the next one to expire.
    releasedUntilMs:
      mandate.openPayments === 0 ? expiresAtMs - 1 : Math.min(mandate.releasedUntilMs, expiresAtMs - 1),
  }
}

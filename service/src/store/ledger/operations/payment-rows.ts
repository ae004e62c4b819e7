import { addMicro, subtractMicro } from '../../../domain/money.ts'
import type { ProofStatus } from '@purser/wire/payments'

import { put, type Change, type Facts, type RangeRead } from '../operation.ts'
import { mandates, payments, type MandateRow, type PaymentRow } from '../tables.ts'

/** How many expired payments one call releases. What is left is released by the next. */
const maxReleased = 1_000

/** What a payment is: one that was open when all open payments of its mandate ended is void. */
export function statusOf(payment: PaymentRow, mandate: MandateRow, nowMs: number): ProofStatus {
  if (payment.status !== 'open') return payment.status
  if (payment.epoch !== mandate.epoch) return 'voided'
  return payment.expiresAtMs > nowMs ? 'open' : 'expired'
}

/** How long after it has expired a payment may still hold its amount. */
const maxDelayMs = 1_000

/**
 * The payments of a mandate that have expired and may still hold their amounts. None are looked for within a second of the
 * last time, so that the calls of a batch share one look.
 */
export function expiredOf(mandate: MandateRow, nowMs: number, delayMs = maxDelayMs): RangeRead | undefined {
  const { accountId, id, epoch, releasedUntilMs } = mandate
  if (releasedUntilMs > nowMs - delayMs) return undefined
  return {
    kind: 'range',
    table: payments,
    // Payments of earlier epochs hold nothing, however many they are.
    where: { accountId, mandateId: id, epoch },
    orderBy: 'expiresAtMs',
    after: releasedUntilMs,
    upTo: nowMs,
    limit: maxReleased,
    isLocked: false,
  }
}

/** The mandate without what its expired payments held, and the changes that end them. */
export function releaseExpired(
  mandate: MandateRow,
  facts: Facts,
  nowMs: number,
  delayMs = maxDelayMs,
): {
  readonly mandate: MandateRow
  readonly changes: readonly Change[]
  readonly released: number
  readonly isMoreLeft: boolean
} {
  const range = expiredOf(mandate, nowMs, delayMs)
  if (!range) return { mandate, changes: [], released: 0, isMoreLeft: false }
  const found = facts.rows(payments, range)
  const isMoreLeft = found.length >= range.limit
  // Several may expire in one millisecond, though never as many as the limit; it may cut some of them off.
  const lastMs = found.at(-1)?.expiresAtMs ?? nowMs
  const releasedUntilMs = isMoreLeft ? lastMs - 1 : nowMs
  const expired = found.filter(
    (payment) => payment.status === 'open' && statusOf(payment, mandate, nowMs) === 'expired',
  )
  const released = expired.reduce((left, payment) => releasePayment(left, payment), mandate)
  const changes = expired.map((payment) => put(payments, { ...payment, status: 'expired' }))
  const left = { ...released, releasedUntilMs: Math.max(mandate.releasedUntilMs, releasedUntilMs) }
  return {
    mandate: left,
    changes: [...changes, put(mandates, left)],
    released: expired.length,
    isMoreLeft,
  }
}

/** The mandate without what an open payment of its epoch held, all of which is spent when it is captured. */
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

/** The mandate with what a new payment of its holds. */
export function holdPayment(
  mandate: MandateRow,
  { amountMicro, expiresAtMs }: Pick<PaymentRow, 'amountMicro' | 'expiresAtMs'>,
): MandateRow {
  return {
    ...mandate,
    heldMicro: addMicro(mandate.heldMicro, amountMicro),
    openPayments: mandate.openPayments + 1,
    // By a clock that was ahead, what expires so soon is released already: it must still be found.
    releasedUntilMs: Math.min(mandate.releasedUntilMs, expiresAtMs - 1),
  }
}

import { addMicro, subtractMicro } from '../../../domain/money.ts'
import type { ProofStatus } from '@purser/wire/payments'

import type { MandateRow, PaymentRow } from '../tables.ts'

/** The status of a payment: one that was open when all open payments of its mandate ended is void. */
export function statusOf(payment: PaymentRow, mandate: MandateRow, nowMs: number): ProofStatus {
  if (payment.status !== 'open') return payment.status
  if (payment.epoch !== mandate.epoch) return 'voided'
  return payment.expiresAtMs > nowMs ? 'open' : 'expired'
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

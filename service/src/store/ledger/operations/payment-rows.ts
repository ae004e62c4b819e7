import type { ProofStatus } from '@purser/wire/payments'

import { addMicro, subtractMicro, type MicroUsdc } from '../../../domain/money.ts'
import type { MandateRow, PaymentRow } from '../tables.ts'

/** The status of a payment: one that was open when all open payments of its mandate ended is void. */
export function statusOf(payment: PaymentRow, mandate: MandateRow, nowMs: number): ProofStatus {
  if (payment.status === 'authorized') {
    return (payment.captureDeadlineMs ?? 0) > nowMs ? 'authorized' : 'expired'
  }
  if (payment.status !== 'open') return payment.status
  if (payment.epoch !== mandate.epoch) return 'voided'
  return payment.expiresAtMs > nowMs ? 'open' : 'expired'
}

type IssuedTerms = Pick<PaymentRow, 'agentId' | 'mandateId' | 'amountText' | 'resourceUrl'> & {
  readonly currency: string
}

/** Whether a proof matches its payment. */
export function isIssuedFor(payment: IssuedTerms, terms: IssuedTerms): boolean {
  return (
    payment.agentId === terms.agentId &&
    payment.mandateId === terms.mandateId &&
    payment.amountText === terms.amountText &&
    payment.currency === terms.currency &&
    payment.resourceUrl === terms.resourceUrl
  )
}

/** What a captured payment has charged: its amount, unless less was captured. */
export function capturedOf({
  amountMicro,
  capturedMicro,
}: Pick<PaymentRow, 'amountMicro' | 'capturedMicro'>): MicroUsdc {
  return capturedMicro ?? amountMicro
}

/** Whether refunds have given back everything that a payment has charged: then nothing is delivered for it any more. */
export function isRefunded(payment: PaymentRow): boolean {
  return payment.refundedMicro !== null && payment.refundedMicro >= capturedOf(payment)
}

/** What audit events say about a payment. */
export function eventDataOf({
  agentId,
  mandateId,
  amountText,
  currency,
}: Pick<PaymentRow, 'agentId' | 'mandateId' | 'amountText' | 'currency'>) {
  return { agent_id: agentId, mandate_id: mandateId, amount: amountText, currency }
}

/** What is not available for new payments: spent, held and authorized amounts. */
export function committedOf({ spentMicro, heldMicro, authorizedMicro }: MandateRow): MicroUsdc {
  return addMicro(addMicro(spentMicro, heldMicro), authorizedMicro)
}

/** The mandate when an open payment of its epoch ends: its amount is released, spent or authorized. */
export function releasePayment(
  mandate: MandateRow,
  { amountMicro }: Pick<PaymentRow, 'amountMicro'>,
  { to }: { readonly to?: 'spent' | 'authorized' } = {},
): MandateRow {
  const { spentMicro, authorizedMicro, authorizedPayments } = mandate
  return {
    ...mandate,
    spentMicro: to === 'spent' ? addMicro(spentMicro, amountMicro) : spentMicro,
    authorizedMicro: to === 'authorized' ? addMicro(authorizedMicro, amountMicro) : authorizedMicro,
    authorizedPayments: to === 'authorized' ? authorizedPayments + 1 : authorizedPayments,
    heldMicro: subtractMicro(mandate.heldMicro, amountMicro),
    openPayments: mandate.openPayments - 1,
  }
}

/** The mandate when an authorized payment ends: a part of its amount is spent, the rest is released. */
export function settlePayment(
  mandate: MandateRow,
  { amountMicro }: Pick<PaymentRow, 'amountMicro'>,
  { spentMicro }: { readonly spentMicro: MicroUsdc },
): MandateRow {
  return {
    ...mandate,
    spentMicro: addMicro(mandate.spentMicro, spentMicro),
    authorizedMicro: subtractMicro(mandate.authorizedMicro, amountMicro),
    authorizedPayments: mandate.authorizedPayments - 1,
  }
}

/** The mandate after a refund of part of what it has spent. */
export function refundPayment(
  mandate: MandateRow,
  { amountMicro }: Pick<PaymentRow, 'amountMicro'>,
): MandateRow {
  return { ...mandate, spentMicro: subtractMicro(mandate.spentMicro, amountMicro) }
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

import type { ProofStatus } from '@purser/wire/payments'

import { addMicro, subtractMicro, type MicroUsdc } from '../../../domain/money.ts'
import type { ProofTerms } from '../../store.ts'
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

/** Whether a proof matches its payment. */
export function isIssuedFor(payment: ProofTerms, terms: ProofTerms): boolean {
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

/** What a captured payment has charged and not given back. */
export function chargedOf(payment: PaymentRow): MicroUsdc {
  return subtractMicro(capturedOf(payment), payment.refundedMicro ?? (0n as MicroUsdc))
}

/** The account that collects a payment: that of its seller, or the one that pays if nobody has registered the domain. */
export function collectorOf({ accountId, sellerAccountId }: PaymentRow): string {
  return sellerAccountId ?? accountId
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

import type { LedgerFault } from '../../src/store/store.ts'
import {
  recountLimits,
  type CountedPayments,
  type CountedRows,
} from '../../src/store/ledger/reads/limit-recount.ts'
import type { MandateRow, PaymentRow } from '../../src/store/ledger/tables.ts'

type StoredRows = Omit<CountedRows, 'mandates' | 'payments'> & {
  readonly mandates: readonly MandateRow[]
  readonly payments: readonly PaymentRow[]
}

/** Recounts limits from database rows, without SQL. */
export function recountRows(rows: StoredRows): readonly LedgerFault[] {
  const byId = new Map(rows.mandates.map((mandate) => [mandate.id, mandate]))
  const counted = rows.payments.flatMap((payment) => countPayment(payment, byId.get(payment.mandateId)))
  return recountLimits({ ...rows, payments: counted })
}

function countPayment(payment: PaymentRow, mandate: MandateRow | undefined): readonly CountedPayments[] {
  const { status, epoch, accountId, mandateId, resourceUrl, budgetPath, amountMicro } = payment
  const isOpen = status === 'open' && epoch === mandate?.epoch
  if (!mandate?.usage || !(isOpen || status === 'authorized' || status === 'captured')) return []
  const bookedAtMs = payment.bookedAtMs ?? payment.issuedAtMs
  const charged = (payment.capturedMicro ?? amountMicro) - (payment.refundedMicro ?? 0n)
  const committed = status === 'captured' ? charged : amountMicro
  const fields = { accountId, mandateId, isOpen, resourceUrl, bookedAtMs, budgetPath, count: 1 }
  return [{ ...fields, amountMicro: committed }]
}

import type { LedgerFault } from '../../src/store/store.ts'
import { recountLimits, type CountedPayments } from '../../src/store/ledger/reads/limit-recount.ts'
import type { Table, TableRow } from '../../src/store/ledger/table.ts'
import {
  budgets,
  budgetUsage,
  mandates,
  payments,
  subjectUsage,
  type MandateRow,
  type PaymentRow,
} from '../../src/store/ledger/tables.ts'

/** Recounts the limits of an account from database rows, without SQL. */
export async function recountRows(
  rowsOf: <Of extends Table>(table: Of) => Promise<readonly TableRow<Of>[]>,
): Promise<readonly LedgerFault[]> {
  const counting = (await rowsOf(mandates)).filter(({ usage }) => usage !== null)
  const byId = new Map(counting.map((mandate) => [mandate.id, mandate]))
  return recountLimits({
    mandates: counting,
    subjects: await rowsOf(subjectUsage),
    budgets: await rowsOf(budgets),
    budgetUsage: await rowsOf(budgetUsage),
    payments: (await rowsOf(payments)).flatMap((payment) =>
      countPayment(payment, byId.get(payment.mandateId)),
    ),
  })
}

function countPayment(payment: PaymentRow, mandate: MandateRow | undefined): readonly CountedPayments[] {
  const { status, epoch, accountId, mandateId, resourceUrl, budgetPath, amountMicro } = payment
  const isOpen = status === 'open' && epoch === mandate?.epoch
  if (!mandate || !(isOpen || status === 'authorized' || status === 'captured')) return []
  const bookedAtMs = payment.bookedAtMs ?? payment.issuedAtMs
  const charged = (payment.capturedMicro ?? amountMicro) - (payment.refundedMicro ?? 0n)
  const committed = status === 'captured' ? charged : amountMicro
  const fields = { accountId, mandateId, isOpen, resourceUrl, bookedAtMs, budgetPath, count: 1 }
  return [{ ...fields, amountMicro: committed }]
}

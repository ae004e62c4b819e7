import type { Hold } from '../../../domain/records.ts'
import type { Facts } from '../operation.ts'
import { captureReads, isEndedByBudget, isEndedLater } from '../operations/bookings.ts'
import { agents, budgets, type MandateRow, type PaymentRow } from '../tables.ts'
import { toHold } from './records.ts'
import { findRecord, findRows, ids, ofAccount } from './rows.ts'
import { sql, type Reader } from '../../sql.ts'

/**
 * Payments of a mandate as holds. Those that have ended together, with all of the mandate or below a shared budget, are void,
 * although their rows are open.
 */
export async function holdsOf(
  db: Reader,
  mandate: MandateRow,
  payments: readonly PaymentRow[],
): Promise<Hold[]> {
  const open = payments.filter(({ status }) => status === 'open')
  if (open.length === 0) return payments.map(toHold)
  const { accountId, environment, agentId } = mandate
  const agent = await findRecord(db, agents, { accountId, environment, id: agentId })
  const budgetIds = open.flatMap((payment) =>
    captureReads(mandate, payment, agent).flatMap((read) =>
      read.kind === 'row' && read.table === budgets ? [String(read.key['id'])] : [],
    ),
  )
  const isAbove = sql`${ofAccount(accountId)} and id in (${ids('budget', [...new Set(budgetIds)])})`
  const above = budgetIds.length === 0 ? [] : await findRows(db, budgets, isAbove)
  const row = (_: unknown, key: object) => above.find((one) => 'id' in key && one.id === key.id)
  const facts = { row } as unknown as Pick<Facts, 'row'>
  const isEnded = (payment: PaymentRow) =>
    payment.epoch !== mandate.epoch ||
    isEndedByBudget(mandate, facts) ||
    isEndedLater(payment, mandate, agent, facts)
  return payments.map((payment) =>
    toHold(payment.status === 'open' && isEnded(payment) ? { ...payment, status: 'voided' } : payment),
  )
}

import type { Facts } from '../operation.ts'
import { captureReads, isEndedByBudget, isEndedLater } from '../operations/bookings.ts'
import { agents, budgets, type AgentRow, type MandateRow, type PaymentRow } from '../tables.ts'
import { findRecord, findRows, ids, ofAccount } from './rows.ts'
import { sql, type Reader } from '../../sql.ts'

/** Which open payments of a mandate have ended with a shared budget, by their nonces, although their rows are still open. */
export async function endedByBudgets(
  db: Reader,
  mandate: MandateRow,
  open: readonly PaymentRow[],
): Promise<ReadonlySet<string>> {
  const { agent, facts } = await readBudgetsOf(db, mandate, open)
  const isEnded = (payment: PaymentRow) =>
    isEndedByBudget(mandate, facts) || isEndedLater(payment, mandate, agent, facts)
  return new Set(open.filter(isEnded).map(({ nonce }) => nonce))
}

/** The agent of a mandate, and what `captureReads` reads of the budgets for these payments. */
export async function readBudgetsOf(
  db: Reader,
  mandate: MandateRow,
  payments: readonly PaymentRow[],
): Promise<{ readonly agent: AgentRow | undefined; readonly facts: Pick<Facts, 'row'> }> {
  const { accountId, environment, agentId } = mandate
  const agent = await findRecord(db, agents, { accountId, environment, id: agentId })
  const budgetIds = payments.flatMap((payment) =>
    captureReads(mandate, payment, agent).flatMap((read) =>
      read.kind === 'row' && read.table === budgets ? [String(read.key['id'])] : [],
    ),
  )
  const isAbove = sql`${ofAccount(accountId)} and id in (${ids('budget', [...new Set(budgetIds)])})`
  const above = budgetIds.length === 0 ? [] : await findRows(db, budgets, isAbove)
  const row = (_: unknown, key: object) => above.find((one) => 'id' in key && one.id === key.id)
  return { agent, facts: { row } as unknown as Pick<Facts, 'row'> }
}

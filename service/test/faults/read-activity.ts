import { sellersPaidIn, sumsOfParts, totalsOf } from '../../src/store/ledger/activity.ts'
import type { Table, TableRow } from '../../src/store/ledger/table.ts'
import {
  activity,
  activityParts,
  entries,
  evaluations,
  paidSellers,
  payments,
} from '../../src/store/ledger/tables.ts'
import type { ActivityContent } from './history.ts'

/**
 * The journal, and the console's sums with the parts not yet added to them, from one snapshot of the tables.
 */
export function readActivity(allRows: (table: Table) => readonly unknown[]): ActivityContent {
  const rowsOf = <Of extends Table>(table: Of) => allRows(table) as readonly TableRow<Of>[]
  const paymentOf = new Map(rowsOf(payments).map((payment) => [payment.nonce, payment]))
  const evaluationOf = new Map(rowsOf(evaluations).map((evaluation) => [evaluation.id, evaluation]))
  const waiting = rowsOf(activityParts)
  return {
    journal: rowsOf(entries).map(({ id, nonce, ...entry }) => {
      const payment = nonce === null ? undefined : paymentOf.get(nonce)
      const evaluation = evaluationOf.get(id)
      return {
        ...entry,
        reason: evaluation?.reasonCode ?? null,
        domain: payment?.merchantDomain ?? evaluation?.merchantDomain ?? null,
        agentId: payment?.agentId ?? null,
        category: payment?.category ?? null,
        isRevenue: payment?.sellerAccountId === entry.accountId,
      }
    }),
    sums: [
      ...rowsOf(activity),
      ...waiting.flatMap(({ accountId, parts }) => sumsOfParts(parts).map((sum) => ({ accountId, ...sum }))),
    ].map((sum) => ({ ...sum, ...totalsOf(sum) })),
    paidSellers: [
      ...rowsOf(paidSellers),
      ...waiting.flatMap(({ accountId, parts }) =>
        sellersPaidIn(parts).map((seller) => ({ accountId, ...seller })),
      ),
    ].map(({ accountId, mandateId, merchantDomain }) => `${accountId} ${mandateId} ${merchantDomain}`),
  }
}

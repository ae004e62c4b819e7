import { downloadJournal, journalColumns, type JournalLine } from '@purser/wire/accounting/journal'

import type { Transaction } from '../domain/records.ts'
import type { Serve } from '../http/serve.ts'
import { readDateTime } from '../domain/time/date-time.ts'
import type { Page } from '../store/store.ts'
import { toTimestamp, type RouteContext } from './context.ts'
import type { AnswerExport } from './csv-export.ts'

/** The journal for accountants: payments and refunds as double-entry lines. */
export function serveJournal(
  serve: Serve,
  { store }: Pick<RouteContext, 'store'>,
  answerExport: AnswerExport,
): void {
  serve(downloadJournal, async ({ caller, query, isStillLetIn, takeTurn }) => {
    const filter = {
      moneyOnly: true,
      fromMs: query.created_from === undefined ? undefined : readDateTime(query.created_from),
      beforeMs: query.created_to === undefined ? undefined : readDateTime(query.created_to),
    }
    const readPage = async (page: Page) => {
      const { items, next } = await store.listConsoleTransactions(caller, filter, page)
      return { items: items.flatMap(toLines), next }
    }
    return answerExport({
      name: 'journal',
      caller,
      columns: journalColumns,
      readPage,
      isStillLetIn,
      takeTurn,
    })
  })
}

/** The lines of a payment or a refund. Between an agent and a seller of one account it is an expense and a revenue. */
function toLines(transaction: Transaction): JournalLine[] {
  const isRefund = transaction.status === 'refunded'
  const pairs = [
    ...(transaction.isExpense ? [['expense', 'wallet'] as const] : []),
    ...(transaction.isRevenue ? [['wallet', 'revenue'] as const] : []),
  ]
  return pairs.flatMap(([debited, credited]) => {
    const [debit, credit] = isRefund ? [credited, debited] : [debited, credited]
    return [
      lineOf(transaction, debit, { debit: transaction.amountText, credit: null }),
      lineOf(transaction, credit, { debit: null, credit: transaction.amountText }),
    ]
  })
}

function lineOf(
  transaction: Transaction,
  account: JournalLine['account'],
  amount: Pick<JournalLine, 'debit' | 'credit'>,
): JournalLine {
  return {
    at: toTimestamp(transaction.createdAtMs),
    transaction_id: transaction.id,
    kind: transaction.status === 'refunded' ? 'refund' : 'payment',
    account,
    ...amount,
    currency: transaction.currency,
    merchant_domain: transaction.merchantDomain,
    seller_id: transaction.sellerId,
    agent_id: transaction.agentId,
    mandate_id: transaction.mandateId,
    order_id: transaction.orderId,
    refund_of: transaction.refundOf,
    resource_url: transaction.resourceUrl,
  }
}

import {
  csvColumns,
  downloadTransactions,
  getTransaction,
  listTransactions,
  type Transaction as WireTransaction,
  type TransactionsQuery,
} from '@purser/wire/transactions'

import { normalizeHostName } from '../domain/host-name.ts'
import type { Caller, Transaction } from '../domain/records.ts'
import { ok, refuse } from '../http/answers.ts'
import { answerPage } from '../http/pagination.ts'
import type { Serve } from '../http/serve.ts'
import { readDateTime } from '../domain/time/date-time.ts'
import type { Page, TransactionFilter } from '../store/store.ts'
import { ownAgentOnly, toTimestamp, type RouteContext } from './context.ts'
import type { AnswerExport } from './csv-export.ts'

export function serveTransactions(
  serve: Serve,
  { store }: Pick<RouteContext, 'store'>,
  answerExport: AnswerExport,
): void {
  serve(listTransactions, ({ caller, query, url }) => {
    const filter = filterOf(caller, query)
    const load = async (page: Page) => (filter ? store.listTransactions(caller, filter, page) : nothing)
    return answerPage(query, url, load, toWire)
  })

  serve(downloadTransactions, async ({ caller, query, isStillLetIn, takeTurn }) => {
    const filter = filterOf(caller, query)
    const readPage = async (page: Page) => {
      if (!filter) return nothing
      const { items, next } = await store.listConsoleTransactions(caller, filter, page)
      return { items: items.map(toWire), next }
    }
    return answerExport({ caller, columns: csvColumns, readPage, isStillLetIn, takeTurn })
  })

  serve(getTransaction, async ({ caller, params }) => {
    const key = { ...caller, id: params.transaction_id }
    const transaction = await store.findTransaction(key, { ...visibleTo(caller), ...ownAgentOnly(caller) })
    return transaction ? ok(toWire(transaction)) : refuse('not_found')
  })
}

const nothing = { items: [], next: undefined }

/** The query limited to what the caller may see; undefined if that is nothing. */
function filterOf(caller: Caller, query: TransactionsQuery): TransactionFilter | undefined {
  const own = ownAgentOnly(caller)
  const asked = query.agent_id
  if (own.agentId !== undefined && asked !== undefined && asked !== own.agentId) return undefined
  return {
    ...visibleTo(caller),
    agentId: own.agentId ?? asked,
    mandateId: query.mandate_id,
    status: query.status,
    merchantDomain: query.merchant_domain && normalizeHostName(query.merchant_domain),
    fromMs: query.created_from === undefined ? undefined : readDateTime(query.created_from),
    beforeMs: query.created_to === undefined ? undefined : readDateTime(query.created_to),
    metadata: query.metadata,
  }
}

/** A merchant sees only payments to the sellers of its account. */
function visibleTo(caller: Caller): TransactionFilter {
  return caller.role === 'merchant' ? { receivedOnly: true } : {}
}

/** As the interface writes it. */
export function toWire(transaction: Transaction): WireTransaction {
  return {
    id: transaction.id,
    status: transaction.status,
    agent_id: transaction.agentId,
    mandate_id: transaction.mandateId,
    amount: transaction.amountText,
    currency: transaction.currency,
    resource_url: transaction.resourceUrl,
    merchant_domain: transaction.merchantDomain,
    seller_id: transaction.sellerId,
    category: transaction.category,
    reason_code: transaction.reasonCode,
    reason_detail: transaction.reasonDetail,
    order_id: transaction.orderId,
    refund_of: transaction.refundOf,
    refunded_total: transaction.refundedText,
    created_at: toTimestamp(transaction.createdAtMs),
    mandate_version: transaction.mandateVersion,
    metadata: { ...transaction.metadata },
  }
}

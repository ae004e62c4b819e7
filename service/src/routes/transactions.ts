import {
  getTransaction,
  listTransactions,
  type Transaction as WireTransaction,
} from '@purser/wire/transactions'

import { normalizeHostName } from '../domain/host-name.ts'
import type { Caller, Transaction } from '../domain/records.ts'
import { ok, refuse } from '../http/answers.ts'
import { answerPage } from '../http/pagination.ts'
import type { Serve } from '../http/serve.ts'
import type { TransactionFilter } from '../store/store.ts'
import { ownAgentOnly, toTimestamp, type RouteContext } from './context.ts'

export function serveTransactions(serve: Serve, { store }: Pick<RouteContext, 'store'>): void {
  serve(listTransactions, ({ caller, query, url }) =>
    answerPage(
      query,
      url,
      async (page) => {
        const own = ownAgentOnly(caller)
        const asked = query.agent_id
        if (own.agentId !== undefined && asked !== undefined && asked !== own.agentId) return nothing
        const filter = {
          ...visibleTo(caller),
          agentId: own.agentId ?? asked,
          mandateId: query.mandate_id,
          status: query.status,
          merchantDomain: query.merchant_domain && normalizeHostName(query.merchant_domain),
        }
        return store.listTransactions(caller, filter, page)
      },
      toWire,
    ),
  )

  serve(getTransaction, async ({ caller, params }) => {
    const key = { ...caller, id: params.transaction_id }
    const transaction = await store.findTransaction(key, { ...visibleTo(caller), ...ownAgentOnly(caller) })
    return transaction ? ok(toWire(transaction)) : refuse('not_found')
  })
}

const nothing = { items: [], next: undefined }

/** A merchant sees what was paid to the sellers of its account, and nothing else. */
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
    created_at: toTimestamp(transaction.createdAtMs),
  }
}

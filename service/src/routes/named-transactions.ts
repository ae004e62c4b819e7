import type { NamedTransaction } from '@purser/wire/console/transactions'

import type { Scope, Transaction } from '../domain/records.ts'
import type { Store } from '../store/store.ts'
import { toWire } from './transactions.ts'

/** Adds the names of agents, mandates and sellers to transactions, for the console. */
export async function nameTransactions(
  store: Pick<Store, 'findNames'>,
  scope: Scope,
  transactions: readonly Transaction[],
): Promise<NamedTransaction[]> {
  const names = await store.findNames(scope, {
    agents: [...new Set(transactions.map(({ agentId }) => agentId))],
    mandates: [...new Set(transactions.map(({ mandateId }) => mandateId))],
    sellers: [...new Set(transactions.flatMap(({ sellerId }) => sellerId ?? []))],
  })
  return transactions.map((transaction) => ({
    ...toWire(transaction),
    agent_name: names.get(transaction.agentId) ?? null,
    mandate_purpose: names.get(transaction.mandateId) ?? null,
    seller_name: names.get(transaction.sellerId ?? '') ?? null,
  }))
}

import type { ConsoleReads } from '../../console/store.ts'
import { isOfOtherAccount } from '../activity.ts'
import { chargedOf, collectorOf } from '../operations/payment-rows.ts'
import type { LedgerReader } from './ledger-reader.ts'
import { prepareRecordReads } from './lists.ts'
import { toHold } from './records.ts'
import { prepareTransactionReads } from './transactions.ts'

/** The facts behind a transaction's decision. */
export function prepareDecisions(db: LedgerReader) {
  const records = prepareRecordReads(db)
  const { findEntry, toTransactions, findRefunds } = prepareTransactionReads(db)

  return {
    async findDecision(key) {
      const found = await findEntry(key, {})
      const [transaction] = found ? await toTransactions(key, [found]) : []
      if (!found || !transaction) return undefined
      const { payment, evaluation, entry } = found
      const isReceived = isOfOtherAccount(entry.kind)
      const isPayment = payment !== undefined && (entry.kind === 'paid' || entry.kind === 'received')
      const { accountId, environment } = key
      const find = (id: string) => ({ accountId, environment, id })
      const own = isReceived ? undefined : payment
      const mandate = isReceived ? undefined : await records.findMandate(find(transaction.mandateId))
      const version = transaction.mandateVersion
      const [looked] =
        mandate && version !== null
          ? await records.listMandateVersions(mandate, { limit: 1, below: version + 1 })
          : []
      const path = own?.budgetPath ?? evaluation?.budgetPath ?? []
      const budgets = await Promise.all(path.map((id) => records.findBudget(find(id))))
      return {
        transaction,
        isReceived,
        failedCheck: evaluation?.failedCheck ?? null,
        spentBeforeMicro: evaluation?.spentBeforeMicro ?? null,
        agent: isReceived ? undefined : await records.findAgent(find(transaction.agentId)),
        mandate,
        version: looked,
        budgets: budgets.filter((budget) => budget !== undefined),
        refusedBy: evaluation?.refusedBy ?? null,
        hold: own && toHold(own),
        holdSpentBeforeMicro: own?.spentBeforeMicro ?? null,
        holdHeldBeforeMicro: own?.heldBeforeMicro ?? null,
        refunds: isPayment ? await findRefunds(accountId, payment) : [],
        refundableMicro: isPayment && collectorOf(payment) === accountId ? chargedOf(payment) : null,
      }
    },
  } satisfies Partial<ConsoleReads>
}

import type { ConsoleReads } from '../../console/store.ts'
import { isOfOtherAccount } from '../activity.ts'
import type { prepareRecordReads } from './lists.ts'
import { toHold } from './records.ts'
import type { prepareTransactionReads } from './transactions.ts'

/** The facts behind a transaction's decision. */
export function prepareDecisions(
  records: Pick<ReturnType<typeof prepareRecordReads>, 'findAgent' | 'findMandate'>,
  {
    findEntry,
    toTransactions,
  }: Pick<ReturnType<typeof prepareTransactionReads>, 'findEntry' | 'toTransactions'>,
): Pick<ConsoleReads, 'findDecision'> {
  return {
    async findDecision(key) {
      const found = await findEntry(key, {})
      const [transaction] = found ? await toTransactions(key, [found]) : []
      if (!found || !transaction) return undefined
      const { payment, evaluation, entry } = found
      const isReceived = isOfOtherAccount(entry.kind)
      const { accountId, environment } = key
      const find = (id: string) => ({ accountId, environment, id })
      const own = isReceived ? undefined : payment
      return {
        transaction,
        isReceived,
        failedCheck: evaluation?.failedCheck ?? null,
        spentBeforeMicro: evaluation?.spentBeforeMicro ?? null,
        agent: isReceived ? undefined : await records.findAgent(find(transaction.agentId)),
        mandate: isReceived ? undefined : await records.findMandate(find(transaction.mandateId)),
        hold: own && toHold(own, own.epoch),
        holdSpentBeforeMicro: own?.spentBeforeMicro ?? null,
        holdHeldBeforeMicro: own?.heldBeforeMicro ?? null,
      }
    },
  }
}

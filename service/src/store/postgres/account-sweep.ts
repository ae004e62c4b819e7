import type { Pool } from 'pg'

import { changeSumsOf, expireHoldsOf, lockIdleMandatesOf, readExpiredOf } from './account-statements.ts'
import { changesOf, send } from './account-payments.ts'
import type { ExpiredHold } from './payment-statements.ts'
import { rowsOf } from './queries.ts'
import type { InTransaction } from './transaction.ts'

/** How many mandates one transaction of a sweep covers, so that no payment waits long for it. */
const mandatesAtOnce = 50
/** How many holds it ends at the most; the next sweep ends the rest. */
const maxHolds = 10_000

/**
 * Gives the amounts of expired holds back: all accounts are asked at once, and each is written by itself. A
 * mandate that a payment is using is left out: its next proof gives its expired holds back anyway.
 */
export function prepareAccountSweep(pool: Pool, inTransaction: InTransaction) {
  async function nextMandates(nowMs: number, maxMandates: number): Promise<Map<string, string[]>> {
    const { rows } = await pool.query<{ account_id: string; mandate_id: string }>({
      text: `
        select distinct account_id, mandate_id from holds
        where status = 'open' and expires_at_ms <= $1 limit $2`,
      values: [nowMs, maxMandates],
    })
    const mandates = new Map<string, string[]>()
    for (const { account_id: accountId, mandate_id: mandateId } of rows) {
      mandates.set(accountId, [...(mandates.get(accountId) ?? []), mandateId])
    }
    return mandates
  }

  function endExpiredOf(
    accountId: string,
    mandateIds: readonly string[],
    { nowMs, deadlineMs }: { readonly nowMs: number; readonly deadlineMs: number },
  ): Promise<number> {
    return inTransaction({ deadlineMs }, async (transaction) => {
      const [locked] = await transaction.ask(lockIdleMandatesOf(accountId, mandateIds))
      const lockedIds = rowsOf<{ id: string }>(locked).map(({ id }) => id)
      const [found] = await transaction.ask(readExpiredOf(accountId, lockedIds, { nowMs, atMost: maxHolds }))
      const expired = rowsOf<ExpiredHold>(found)
      if (expired.length > 0) {
        const changes = changesOf({ expired, granted: [], captured: [] })
        await send(transaction, [expireHoldsOf(accountId, expired), changeSumsOf(accountId, changes)])
      }
      await transaction.commit()
      return expired.length
    })
  }

  return async function releaseExpiredHolds(
    nowMs: number,
    maxMandates: number,
    deadlineMs: number,
  ): Promise<number> {
    let ended = 0
    for (const [accountId, mandateIds] of await nextMandates(nowMs, maxMandates)) {
      for (let start = 0; start < mandateIds.length; start += mandatesAtOnce) {
        const some = mandateIds.slice(start, start + mandatesAtOnce)
        ended += await endExpiredOf(accountId, some, { nowMs, deadlineMs })
      }
    }
    return ended
  }
}

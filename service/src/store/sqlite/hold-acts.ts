import type { HoldRow, Int } from '../rows.ts'
import type { SqliteDatabase } from './open.ts'

/** How many holds of one mandate a sweep ends at the most; the next use of the mandate ends the rest. */
const maxHoldsOfMandate = 1_000

/** A negative limit is none to SQLite. */
const unlimited = -1

/** What ends holds without a payment: time, and an owner who says stop. */
export function prepareHoldActs(db: SqliteDatabase) {
  const endExpired = db.prepare<[string, string, number, number], { amount_micro: Int }>(`
    update holds set status = 'expired'
    where rowid in (
      select rowid from holds indexed by holds_open
      where account_id = ? and mandate_id = ? and status = 'open' and expires_at_ms <= ?
      order by expires_at_ms limit ?)
    returning amount_micro`)
  const voidOpen = db.prepare<[string, string], { amount_micro: Int }>(`
    update holds set status = 'voided'
    where account_id = ? and mandate_id = ? and status = 'open'
    returning amount_micro`)
  const giveBack = db.prepare(
    'update mandates set held_micro = held_micro - ? where account_id = ? and id = ?',
  )
  const mandatesOfAgent = db
    .prepare<[string, string], string>('select id from mandates where account_id = ? and agent_id = ?')
    .pluck()
  // The first open hold past (account, mandate), in the index's order, is the soonest of its mandate to expire.
  const nextMandateWithHolds = db.prepare<
    [string, string],
    Pick<HoldRow, 'account_id' | 'mandate_id' | 'expires_at_ms'>
  >(`
    select account_id, mandate_id, expires_at_ms from holds indexed by holds_open
    where status = 'open' and (account_id, mandate_id) > (?, ?)
    order by account_id, mandate_id, expires_at_ms limit 1`)

  let sweptUpTo = { accountId: '', mandateId: '' }

  function release(accountId: string, mandateId: string, ended: { amount_micro: Int }[]): number {
    if (ended.length === 0) return 0
    const sumMicro = ended.reduce((sum, row) => sum + BigInt(row.amount_micro), 0n)
    giveBack.run(sumMicro, accountId, mandateId)
    return ended.length
  }

  function releaseExpired(accountId: string, mandateId: string, nowMs: number, most = unlimited): number {
    return release(accountId, mandateId, endExpired.all(accountId, mandateId, nowMs, most))
  }

  /** Ends what can still be captured; what has expired by now stays expired, though nobody swept it yet. */
  function voidHolds(accountId: string, mandateId: string, nowMs: number): number {
    releaseExpired(accountId, mandateId, nowMs)
    return release(accountId, mandateId, voidOpen.all(accountId, mandateId))
  }

  return {
    releaseExpired,
    voidHolds,

    voidHoldsOfAgent(accountId: string, agentId: string, nowMs: number): number {
      return mandatesOfAgent
        .all(accountId, agentId)
        .reduce((ended, mandateId) => ended + voidHolds(accountId, mandateId, nowMs), 0)
    },

    /**
     * Looks at the next so many mandates that have open holds, going round and round over the calls, and
     * ends a bounded number of holds of each, so that no sweep keeps payments waiting.
     */
    releaseExpiredHolds(nowMs: number, maxMandates: number): number {
      let ended = 0
      for (let looked = 0; looked < maxMandates; looked++) {
        const next = nextMandateWithHolds.get(sweptUpTo.accountId, sweptUpTo.mandateId)
        sweptUpTo = { accountId: next?.account_id ?? '', mandateId: next?.mandate_id ?? '' }
        if (!next) break
        if (Number(next.expires_at_ms) <= nowMs) {
          ended += releaseExpired(next.account_id, next.mandate_id, nowMs, maxHoldsOfMandate)
        }
      }
      return ended
    },
  }
}

export type HoldActs = ReturnType<typeof prepareHoldActs>

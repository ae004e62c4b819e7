import type { Int } from '../rows.ts'
import type { FoundHold } from './hold-lookup.ts'
import type { SqliteDatabase } from '../ledger/sqlite/open.ts'

/** How many holds of one mandate a sweep ends at the most; the next use of the mandate ends the rest. */
const maxHoldsOfMandate = 1_000

/** A negative limit is none to SQLite. */
const unlimited = -1

/** What ends holds without a payment: time, and an owner who says stop. */
export function prepareHoldActs(db: SqliteDatabase) {
  const anyExpired = db
    .prepare(
      `select 1 from holds indexed by holds_open
       where account_id = ? and mandate_id = ? and status = 'open' and expires_at_ms <= ? limit 1`,
    )
    .pluck()
  const endExpired = db.prepare<[string, string, number, number], { amount_micro: Int }>(`
    update holds set status = 'expired'
    where rowid in (
      select rowid from holds indexed by holds_open
      where status = 'open' and account_id = ? and mandate_id = ? and expires_at_ms <= ? limit ?)
    returning amount_micro`)
  const endOne = db.prepare(`update holds set status = ? where rowid = ? and status = 'open'`)
  const voidOpen = db.prepare<[string, string], { amount_micro: Int }>(`
    update holds set status = 'voided'
    where account_id = ? and mandate_id = ? and status = 'open'
    returning amount_micro`)
  // One look at the open holds of an account, however many mandates are asked about.
  const endOpenOfMandates = db.prepare<
    [number, string, string],
    { mandate_id: string; amount_micro: Int; status: string }
  >(`
    update holds set status = case when expires_at_ms <= ? then 'expired' else 'voided' end
    where rowid in (
      select rowid from holds indexed by holds_open
      where account_id = ? and status = 'open' and mandate_id in (select value from json_each(?)))
    returning mandate_id, amount_micro, status`)
  const giveBack = db.prepare(
    `update mandate_sums set held_micro = held_micro - ?
     where no = (select no from mandate_terms where account_id = ? and id = ?)`,
  )
  const mandatesOfAgent = db
    .prepare<[string, string], string>('select id from mandate_terms where account_id = ? and agent_id = ?')
    .pluck()
  const nextAccountWithHolds = db
    .prepare<[string], string>(
      `select account_id from holds indexed by holds_open
       where status = 'open' and account_id > ? order by account_id limit 1`,
    )
    .pluck()
  const mandatesWithExpired = db
    .prepare<[string, number, number], string>(
      `select distinct mandate_id from holds indexed by holds_open
       where status = 'open' and account_id = ? and expires_at_ms <= ? limit ?`,
    )
    .pluck()

  let sweptUpTo = ''

  function release(accountId: string, mandateId: string, ended: { amount_micro: Int }[]): number {
    if (ended.length === 0) return 0
    const sumMicro = ended.reduce((sum, row) => sum + BigInt(row.amount_micro), 0n)
    giveBack.run(sumMicro, accountId, mandateId)
    return ended.length
  }

  function releaseExpired(accountId: string, mandateId: string, nowMs: number, most = unlimited): number {
    // Most often nothing has expired, and to see that costs far less than to end nothing.
    if (anyExpired.get(accountId, mandateId, nowMs) === undefined) return 0
    return release(accountId, mandateId, endExpired.all(accountId, mandateId, nowMs, most))
  }

  /** Ends one hold, whenever it would have expired, and gives its amount back. */
  function endHold(
    hold: Pick<FoundHold, 'rowid' | 'account_id' | 'mandate_id' | 'amount_micro'>,
    status: 'expired' | 'voided',
  ): void {
    if (endOne.run(status, hold.rowid).changes === 1) release(hold.account_id, hold.mandate_id, [hold])
  }

  /** Ends what can still be captured; what has expired by now stays expired, though nobody swept it yet. */
  function voidHolds(accountId: string, mandateId: string, nowMs: number): number {
    releaseExpired(accountId, mandateId, nowMs)
    return release(accountId, mandateId, voidOpen.all(accountId, mandateId))
  }

  return {
    releaseExpired,
    endHold,
    voidHolds,

    /** As `voidHolds`, for many mandates at once; how many holds were voided, by mandate. */
    voidHoldsOfMandates(
      accountId: string,
      mandateIds: readonly string[],
      nowMs: number,
    ): Map<string, number> {
      const ended = endOpenOfMandates.all(nowMs, accountId, JSON.stringify(mandateIds))
      const voided = new Map<string, number>()
      for (const [mandateId, holds] of Map.groupBy(ended, (hold) => hold.mandate_id)) {
        release(accountId, mandateId, holds)
        voided.set(mandateId, holds.filter(({ status }) => status === 'voided').length)
      }
      return voided
    },

    voidHoldsOfAgent(accountId: string, agentId: string, nowMs: number): number {
      return mandatesOfAgent
        .all(accountId, agentId)
        .reduce((ended, mandateId) => ended + voidHolds(accountId, mandateId, nowMs), 0)
    },

    /**
     * Ends expired holds of so many mandates, account after account, going round and round over the
     * calls, and a bounded number of each mandate, so that no sweep keeps payments waiting.
     */
    releaseExpiredHolds(nowMs: number, maxMandates: number): number {
      let ended = 0
      for (let left = maxMandates; left > 0;) {
        const accountId = nextAccountWithHolds.get(sweptUpTo)
        sweptUpTo = accountId ?? ''
        if (accountId === undefined) break
        const mandateIds = mandatesWithExpired.all(accountId, nowMs, left)
        for (const mandateId of mandateIds) {
          ended += releaseExpired(accountId, mandateId, nowMs, maxHoldsOfMandate)
        }
        // An account without expired holds costs a look, too.
        left -= Math.max(1, mandateIds.length)
      }
      return ended
    },
  }
}

export type HoldActs = ReturnType<typeof prepareHoldActs>

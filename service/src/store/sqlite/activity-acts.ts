import { activityColumns, addUp } from '../activity.ts'
import type { Tallies } from '../console-store.ts'
import type { SqliteDatabase } from './open.ts'

/** How many transactions one step adds up, so that no payment waits long for it. */
const mostAtOnce = 500

/** Keeps the sums that the console shows. */
export function prepareActivityActs(db: SqliteDatabase) {
  const selectProgress = db.prepare<[], bigint>('select added_up_to from activity_progress').pluck()
  const setProgress = db.prepare('update activity_progress set added_up_to = ?')
  const selectLast = db.prepare<[], bigint>('select coalesce(max(rowid), 0) from transactions').pluck()
  // Rows are inserted in the order of their rowids and never deleted, so those up to one are all there are.
  const addRows = db.prepare<[bigint, bigint]>(
    addUp(`select ${activityColumns} from transactions not indexed where rowid > ? and rowid <= ?`),
  )
  const addRefusals = db.prepare(`
    insert into refusals (account_id, environment, kind, subject, reason, starts_at_ms, refused_count)
    select :accountId, :environment, :kind, :subject, :reason, :startsAtMs, :count
    where :kind = 'proof' or exists (
      select 1 from seller_domains
      where environment = :environment and domain = :subject and account_id = :accountId)
    on conflict do update set refused_count = refused_count + excluded.refused_count`)
  const setUse = db.prepare(`
    insert into api_key_uses (account_id, key_id, used_at_ms) values (?, ?, ?)
    on conflict do update set used_at_ms = max(used_at_ms, excluded.used_at_ms)`)

  return {
    addUpActivity(): boolean {
      const from = selectProgress.get() ?? 0n
      const last = selectLast.get() ?? 0n
      if (from >= last) return false
      const upTo = last - from > mostAtOnce ? from + BigInt(mostAtOnce) : last
      addRows.run(from, upTo)
      setProgress.run(upTo)
      return upTo < last
    },

    addTallies({ refusals, keyUses }: Tallies): void {
      for (const refusal of refusals) addRefusals.run(refusal)
      for (const { accountId, keyId, usedAtMs } of keyUses) setUse.run(accountId, keyId, usedAtMs)
    },
  }
}

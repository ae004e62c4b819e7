import { activityColumns, addUp, addUpSum } from '../activity.ts'
import type { Tallies } from '../console/store.ts'
import { ActivitySums, type CountedTransaction } from './activity-sums.ts'
import type { SqliteDatabase } from '../ledger/sqlite/open.ts'

/** How many transactions of the file one step adds up, and how many sums it writes, so that no payment waits long. */
const mostAtOnce = 500
const mostSums = 1_024
/** How many steps may wait in memory; when more would, the file is read instead. */
const mostWaiting = 16

/** A transaction that was recorded, and where it stands. */
export interface RecordedActivity extends CountedTransaction {
  readonly rowid: bigint
}

/** What one step writes: the sums of all transactions after the step before, up to one. */
interface Step {
  readonly sums: ActivitySums
  upTo: bigint
}

/**
 * Keeps the sums that the console shows. What this process records is added up in memory, as it comes; what
 * another one has left, from the file.
 */
export function prepareActivityActs(db: SqliteDatabase) {
  const selectProgress = db.prepare<[], bigint>('select added_up_to from activity_progress').pluck()
  const setProgress = db.prepare('update activity_progress set added_up_to = ?')
  const selectLast = db.prepare<[], bigint>('select coalesce(max(rowid), 0) from transactions').pluck()
  // Rows are inserted in the order of their rowids and never deleted, so those up to one are all there are.
  const addRows = db.prepare<[bigint, bigint]>(
    addUp(`select ${activityColumns} from transactions not indexed where rowid > ? and rowid <= ?`),
  )
  const addSum = db.prepare(addUpSum)
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

  /** Up to here the file is read; what came later waits in the steps. */
  let readUpTo = selectLast.get() ?? 0n
  let steps: Step[] = []
  /** How many of them the open transaction has written. */
  let written = 0

  /** The step that the next transaction belongs to. */
  function lastStep(): Step {
    const last = steps.at(-1)
    if (last && last.sums.size < mostSums) return last
    const step = { sums: new ActivitySums(), upTo: 0n }
    steps.push(step)
    return step
  }

  return {
    /** Takes note of transactions that are committed, in the order in which they were inserted. */
    addRecorded(committed: readonly RecordedActivity[]): void {
      for (const transaction of committed) {
        const step = lastStep()
        step.sums.add(transaction)
        step.upTo = transaction.rowid
      }
      if (steps.length <= mostWaiting) return
      readUpTo = steps.at(-1)?.upTo ?? readUpTo
      steps = []
    },

    /** Must be called when the transaction is committed that `addUpActivity` was called in. */
    committed(): void {
      if (written === 0) return
      steps.splice(0, written)
      written = 0
    },

    /** Must be called when what the acts wrote was undone. */
    rolledBack(): void {
      written = 0
    },

    addUpActivity(): boolean {
      const from = selectProgress.get() ?? 0n
      if (from < readUpTo) {
        const upTo = readUpTo - from > mostAtOnce ? from + BigInt(mostAtOnce) : readUpTo
        addRows.run(from, upTo)
        setProgress.run(upTo)
        return upTo < readUpTo || steps.length > 0
      }
      const step = steps[written]
      if (!step) return false
      for (const { account_id, environment, dimension, subject, startsAtMs, ...sum } of step.sums.values()) {
        const { paidCount, paidMicro, approvedCount, deniedCount } = sum
        addSum.run(
          account_id,
          environment,
          dimension,
          subject,
          startsAtMs,
          paidCount,
          paidMicro >> 32n,
          paidMicro & 0xffff_ffffn,
          approvedCount,
          deniedCount,
        )
      }
      setProgress.run(step.upTo)
      written++
      return steps.length > written
    },

    addTallies({ refusals, keyUses }: Tallies): void {
      for (const refusal of refusals) addRefusals.run(refusal)
      for (const { accountId, keyId, usedAtMs } of keyUses) setUse.run(accountId, keyId, usedAtMs)
    },
  }
}

import type { HoldRow } from '../rows.ts'
import type { CaptureAttempt } from '../store.ts'
import type { SqliteDatabase } from './open.ts'

/** A hold, and where it stands in its table. */
export type FoundHold = HoldRow & { readonly rowid: bigint }

/** Finds the hold that somebody wants to capture. */
export function prepareHoldLookup(db: SqliteDatabase) {
  const selectHold = db.prepare<[string, string, string], FoundHold>(
    'select rowid, * from holds where account_id = ? and nonce = ? and environment = ?',
  )
  const selectAccountOf = db
    .prepare<[string], string>('select account_id from record_accounts where id = ?')
    .pluck()

  return {
    /** The hold of a proof: most often the caller's own, else that of the account that owns the mandate. */
    findHold({ caller, nonce, mandateId }: CaptureAttempt): FoundHold | undefined {
      return (
        selectHold.get(caller.accountId, nonce, caller.environment) ??
        selectHold.get(selectAccountOf.get(mandateId) ?? '', nonce, caller.environment)
      )
    },
  }
}

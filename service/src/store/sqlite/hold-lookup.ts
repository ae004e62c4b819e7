import type { HoldRow } from '../rows.ts'
import type { CaptureAttempt } from '../store.ts'
import type { SqliteDatabase } from '../ledger/sqlite/open.ts'

/** What is asked of the hold of a proof that is presented, and where that stands in its table. */
const columns = [
  'account_id',
  'agent_id',
  'mandate_id',
  'amount_text',
  'amount_micro',
  'currency',
  'resource_url',
  'status',
  'issued_at_ms',
  'expires_at_ms',
  'transaction_id',
  'captured_by',
  'merchant_domain',
  'idempotency_key',
] as const satisfies readonly (keyof HoldRow)[]
export type FoundHold = Pick<HoldRow, (typeof columns)[number]> & { readonly rowid: bigint }

/** Finds the hold that somebody wants to capture. */
export function prepareHoldLookup(db: SqliteDatabase) {
  const selectHold = db.prepare<[string, string, string], FoundHold>(
    `select rowid, ${columns.join(', ')} from holds where account_id = ? and nonce = ? and environment = ?`,
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

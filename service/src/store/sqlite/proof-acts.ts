import type { AuditEvent, Hold, Scope } from '../../domain/records.ts'
import { decideVoid, eventOfVoid } from '../payment-records.ts'
import { toHold, type HoldRow } from '../rows.ts'
import { mandatesVoidedAtOnce, type AgentFilter } from '../store.ts'
import type { AuditActs } from './audit-acts.ts'
import type { HoldActs } from './hold-acts.ts'
import type { SqliteDatabase } from '../ledger/sqlite/open.ts'

/** The acts on one proof, apart from the payments. */
export function prepareProofActs(
  db: SqliteDatabase,
  { recordEvent }: AuditActs,
  { endHold, voidHoldsOfMandates }: HoldActs,
) {
  const mandatesWithHolds = db
    .prepare<[string, string, number], string>(
      `select distinct mandate_id from holds indexed by holds_open
       where status = 'open' and account_id = ? and environment = ? limit ?`,
    )
    .pluck()
  const selectHold = db.prepare<[string, string, string], HoldRow & { readonly rowid: bigint }>(
    'select rowid, * from holds where account_id = ? and nonce = ? and environment = ?',
  )

  return {
    voidProof(
      { accountId, environment, nonce }: Scope & { readonly nonce: string },
      { agentId }: AgentFilter,
      event: AuditEvent,
    ): Hold | undefined {
      const hold = selectHold.get(accountId, nonce, environment)
      if (!hold || (agentId !== undefined && hold.agent_id !== agentId)) return undefined
      const status = decideVoid(hold, event.createdAtMs)
      if (!status) return toHold(hold)
      endHold(hold, status)
      if (status === 'voided') recordEvent(eventOfVoid(event, hold))
      return toHold({ ...hold, status })
    },

    voidSomeHolds({ accountId, environment }: Scope, event: AuditEvent): { readonly isMoreLeft: boolean } {
      const mandateIds = mandatesWithHolds.all(accountId, environment, mandatesVoidedAtOnce)
      const voided = voidHoldsOfMandates(accountId, mandateIds, event.createdAtMs)
      const count = [...voided.values()].reduce((sum, one) => sum + one, 0)
      if (count > 0) recordEvent({ ...event, data: { ...event.data, voided_holds: count } })
      return { isMoreLeft: mandateIds.length === mandatesVoidedAtOnce }
    },
  }
}

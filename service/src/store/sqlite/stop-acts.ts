import { auditEvent } from '../../domain/audit.ts'
import type { Scope } from '../../domain/records.ts'
import type { ResumeStep, StopProgress, StopStep } from '../console-store.ts'
import type { AuditActs } from './audit-acts.ts'
import type { HoldActs } from './hold-acts.ts'
import type { SqliteDatabase } from './open.ts'

/** Stopping all agents of a scope, and letting them go on; each call moves a bounded number of mandates. */
export function prepareStopActs(
  db: SqliteDatabase,
  { recordEvent }: AuditActs,
  { voidHoldsOfMandates }: HoldActs,
) {
  const selectActive = db
    .prepare<[string, string, string, number], string>(
      `select id from mandate_terms where account_id = ? and environment = ? and id > ? and status = 'active'
       order by id limit ?`,
    )
    .pluck()
  const selectStopped = db
    .prepare<[string, string, string, string | null, string | null, number], string>(
      `select id from mandate_terms where account_id = ? and environment = ? and id > ? and status = 'paused'
         and stopped_by is not null and (? is null or stopped_by = ?)
       order by id limit ?`,
    )
    .pluck()
  const move = db.prepare(
    'update mandate_terms set status = ?, stopped_by = ?, updated_at_ms = ? where account_id = ? and id = ?',
  )

  return {
    stopMandates(scope: Scope, { stopId, actor, atMs, afterId, eventIds }: StopStep): StopProgress {
      const { accountId, environment } = scope
      const ids = selectActive.all(accountId, environment, afterId, eventIds.length)
      const voidedOf = voidHoldsOfMandates(accountId, ids, atMs)
      let voidedHolds = 0
      for (const [index, id] of ids.entries()) {
        move.run('paused', stopId, atMs, accountId, id)
        const voided = voidedOf.get(id) ?? 0
        voidedHolds += voided
        const data = { voided_holds: voided, stop_id: stopId }
        const event = {
          id: eventIds[index] ?? '',
          type: 'mandate.paused',
          subjectId: id,
          data,
          atMs,
        } as const
        recordEvent(auditEvent({ keyId: actor }, scope, event))
      }
      return { moved: ids.length, voidedHolds, lastId: ids.at(-1) }
    },

    resumeMandates(scope: Scope, { stopId, actor, atMs, afterId, eventIds }: ResumeStep): StopProgress {
      const { accountId, environment } = scope
      const ids = selectStopped.all(accountId, environment, afterId, stopId, stopId, eventIds.length)
      for (const [index, id] of ids.entries()) {
        move.run('active', null, atMs, accountId, id)
        const event = {
          id: eventIds[index] ?? '',
          type: 'mandate.resumed',
          subjectId: id,
          data: { voided_holds: 0 },
          atMs,
        } as const
        recordEvent(auditEvent({ keyId: actor }, scope, event))
      }
      return { moved: ids.length, voidedHolds: 0, lastId: ids.at(-1) }
    },
  }
}

import { auditEvent } from '../../domain/audit.ts'
import type { Scope } from '../../domain/records.ts'
import type { MoveProgress, ResumeStep, StopProgress, StopStep } from '../console/store.ts'
import { voidedIn } from '../voided-holds.ts'
import type { AuditActs } from './audit-acts.ts'
import type { HoldActs } from './hold-acts.ts'
import type { SqliteDatabase } from '../ledger/sqlite/open.ts'

/** Stopping all agents of a scope, and letting them go on; each call moves a bounded number of mandates. */
export function prepareStopActs(
  db: SqliteDatabase,
  { recordEvent }: AuditActs,
  { voidHoldsOfMandates }: HoldActs,
) {
  const selectToStop = db.prepare<
    [string, string, string, string | null, number],
    { readonly id: string; readonly status: 'active' | 'paused' }
  >(
    `select id, status from mandate_terms where account_id = ? and environment = ? and id > ?
       and (status = 'active' or (status = 'paused' and stopped_by = ?))
     order by id limit ?`,
  )
  const selectPauses = db
    .prepare<[string, string, string], string>(
      `select data from recorded_events
       where account_id = ? and subject_id = ? and type = 'mandate.paused' and instr(data, ?) > 0`,
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
    stopMandates(scope: Scope, step: StopStep): StopProgress {
      const { stopId, tellsEarlier, actor, atMs, afterId, eventIds } = step
      const { accountId, environment } = scope
      const ofStop = tellsEarlier ? stopId : null
      const found = selectToStop.all(accountId, environment, afterId, ofStop, eventIds.length)
      const ids = found.flatMap(({ id, status }) => (status === 'active' ? [id] : []))
      const earlierIds = found.flatMap(({ id, status }) => (status === 'active' ? [] : [id]))
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
      const pauses = earlierIds.flatMap((id) => selectPauses.all(accountId, id, stopId))
      const earlier = { mandateIds: earlierIds, holds: voidedIn(pauses) }
      return { movedIds: ids, voidedHolds, lastId: found.at(-1)?.id, earlier }
    },

    resumeMandates(scope: Scope, { stopId, actor, atMs, afterId, eventIds }: ResumeStep): MoveProgress {
      const { accountId, environment } = scope
      const ids = selectStopped.all(accountId, environment, afterId, stopId, stopId, eventIds.length)
      for (const [index, id] of ids.entries()) {
        move.run('active', null, atMs, accountId, id)
        const event = {
          id: eventIds[index] ?? '',
          type: 'mandate.resumed',
          subjectId: id,
          data: { voided_holds: 0, stop_id: stopId },
          atMs,
        } as const
        recordEvent(auditEvent({ keyId: actor }, scope, event))
      }
      return { movedIds: ids, voidedHolds: 0, lastId: ids.at(-1) }
    },
  }
}

import type { AuditEvent } from '../../domain/records.ts'
import type { SqliteDatabase } from './open.ts'

/** Writes an event into the log, within the transaction of the change that it tells of. */
export function prepareAuditActs(db: SqliteDatabase) {
  const insertEvent = db.prepare(`
    insert into recorded_events (account_id, id, environment, type, actor, subject_id, data, created_at_ms)
    values (?, ?, ?, ?, ?, ?, ?, ?)`)

  return {
    recordEvent(event: AuditEvent): void {
      insertEvent.run(
        event.accountId,
        event.id,
        event.environment,
        event.type,
        event.actor,
        event.subjectId,
        JSON.stringify(event.data),
        event.createdAtMs,
      )
    },
  }
}

export type AuditActs = ReturnType<typeof prepareAuditActs>

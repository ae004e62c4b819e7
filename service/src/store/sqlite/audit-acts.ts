import type { AuditEvent } from '../../domain/records.ts'
import { insertOf, newEventRow } from '../new-rows.ts'
import type { SqliteDatabase } from '../ledger/sqlite/open.ts'

/** Writes an event into the log, within the transaction of the change that it tells of. */
export function prepareAuditActs(db: SqliteDatabase) {
  const insertEvent = db.prepare(insertOf(newEventRow, () => '?'))

  return {
    recordEvent(event: AuditEvent): void {
      insertEvent.run(...newEventRow.valuesOf(event))
    },
  }
}

export type AuditActs = ReturnType<typeof prepareAuditActs>

import type { QueryConfig } from 'pg'

import type { AuditEvent } from '../../domain/records.ts'
import { newEventRow } from '../new-rows.ts'
import { insertRow, query, rowsOf } from './queries.ts'
import type { Transaction } from './transaction.ts'

// Each act brings the id of its event, so a second attempt knows whether the first was written. Acts that change
// what is there find it changed.

/** Records an event of its own, unless an earlier attempt did. */
export async function recordEvent(transaction: Transaction, event: AuditEvent): Promise<void> {
  if (await isRecorded(transaction, event)) return
  await transaction.commit(insertEvent(event))
}

/** Whether an earlier attempt wrote the act of this event; then nothing is left to do. */
export async function isRecorded(transaction: Transaction, { accountId, id }: AuditEvent): Promise<boolean> {
  if (!transaction.isRerun) return false
  const [found] = await transaction.ask(
    query('select 1 from recorded_events where account_id = $1 and id = $2', [accountId, id]),
  )
  if (rowsOf(found).length === 0) return false
  await transaction.commit()
  return true
}

/** Writes an event within the transaction of the change that it tells of. */
export function insertEvent(event: AuditEvent): QueryConfig {
  return insertRow(newEventRow, event)
}

/** The event of an act, with how many holds it ended. */
export function withVoided(event: AuditEvent, ended: { readonly rows: unknown[] } | undefined): AuditEvent {
  const [row] = rowsOf<{ voided: number }>(ended)
  return { ...event, data: { ...event.data, voided_holds: row?.voided ?? 0 } }
}

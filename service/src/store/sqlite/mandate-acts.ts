import type { MandateStatus } from '@purser/wire/mandates'

import type { AuditEvent, Mandate } from '../../domain/records.ts'
import { insertOf, newMandateRow } from '../new-rows.ts'
import { toMandate, type MandateRow } from '../rows.ts'
import type { RecordKey } from '../store.ts'
import type { AgentActs } from './agent-acts.ts'
import type { AuditActs } from './audit-acts.ts'
import type { HoldActs } from './hold-acts.ts'
import type { SqliteDatabase } from '../ledger/sqlite/open.ts'

/** The acts on mandates. */
export function prepareMandateActs(
  db: SqliteDatabase,
  { recordEvent }: AuditActs,
  { voidHolds }: HoldActs,
  { findAgent }: AgentActs,
) {
  const insertTerms = db.prepare(insertOf({ ...newMandateRow, table: 'mandate_terms' }, () => '?'))
  const insertSums = db.prepare(
    'insert into mandate_sums (no, max_total_micro, spent_micro, held_micro) values (?, ?, 0, 0)',
  )
  const insertAccountOf = db.prepare('insert into record_accounts (id, account_id) values (?, ?)')
  // No join: SQLite plans one anew each time that it is given values, which takes ten times as long as to look up both.
  const selectMandate = db.prepare<[string, string, string], MandateRow>(`
    select t.*,
      (select spent_micro from mandate_sums s where s.no = t.no) as spent_micro,
      (select held_micro from mandate_sums s where s.no = t.no) as held_micro
    from mandate_terms t where account_id = ? and id = ? and environment = ?`)
  const keepPaused = db.prepare(
    'update mandate_terms set stopped_by = null where account_id = ? and id = ? and stopped_by is not null',
  )
  const setStatus = db.prepare(
    'update mandate_terms set status = ?, stopped_by = null, updated_at_ms = ? where account_id = ? and id = ?',
  )

  function findMandate({ accountId, id, environment }: RecordKey): Mandate | undefined {
    const row = selectMandate.get(accountId, id, environment)
    return row && toMandate(row)
  }

  return {
    findMandate,

    createMandate(mandate: Mandate, event: AuditEvent): 'created' | 'not_found' | 'agent_revoked' {
      const agent = findAgent({ ...mandate, id: mandate.agentId })
      if (!agent) return 'not_found'
      if (agent.status !== 'active') return 'agent_revoked'
      const { lastInsertRowid } = insertTerms.run(...newMandateRow.valuesOf(mandate))
      insertSums.run(lastInsertRowid, mandate.maxTotalMicro)
      insertAccountOf.run(mandate.id, mandate.accountId)
      recordEvent(event)
      return 'created'
    },

    moveMandate(
      key: RecordKey,
      to: MandateStatus,
      event: AuditEvent,
    ): Mandate | 'not_found' | 'mandate_revoked' {
      const mandate = findMandate(key)
      if (!mandate) return 'not_found'
      // Who pauses what a stop has paused already wants it paused when the stop is over, too.
      if (mandate.status === to) keepPaused.run(key.accountId, key.id)
      if (mandate.status === to) return mandate
      if (mandate.status === 'revoked') return 'mandate_revoked'
      setStatus.run(to, event.createdAtMs, key.accountId, key.id)
      const voided = to === 'active' ? 0 : voidHolds(key.accountId, key.id, event.createdAtMs)
      recordEvent({ ...event, data: { ...event.data, voided_holds: voided } })
      return findMandate(key) ?? 'not_found'
    },
  }
}

export type MandateActs = ReturnType<typeof prepareMandateActs>

import type { Agent, AuditEvent } from '../../domain/records.ts'
import { insertOf, newAgentRow } from '../new-rows.ts'
import { toAgent, type AgentRow } from '../rows.ts'
import type { RecordKey } from '../store.ts'
import type { AuditActs } from './audit-acts.ts'
import type { HoldActs } from './hold-acts.ts'
import type { SqliteDatabase } from '../ledger/sqlite/open.ts'

/** The acts on agents. */
export function prepareAgentActs(
  db: SqliteDatabase,
  { recordEvent }: AuditActs,
  { voidHoldsOfAgent }: HoldActs,
) {
  const insertAgent = db.prepare(insertOf(newAgentRow, () => '?'))
  const insertAccountOf = db.prepare('insert into record_accounts (id, account_id) values (?, ?)')
  const selectAgent = db.prepare<[string, string, string], AgentRow>(
    'select * from agents where account_id = ? and id = ? and environment = ?',
  )
  const setRevoked = db.prepare<[number, string, string], AgentRow>(`
    update agents set status = 'revoked', revoked_at_ms = ? where account_id = ? and id = ? returning *`)

  function findAgent({ accountId, id, environment }: RecordKey): Agent | undefined {
    const row = selectAgent.get(accountId, id, environment)
    return row && toAgent(row)
  }

  return {
    findAgent,

    createAgent(agent: Agent, event: AuditEvent): void {
      insertAgent.run(...newAgentRow.valuesOf(agent))
      insertAccountOf.run(agent.id, agent.accountId)
      recordEvent(event)
    },

    revokeAgent(key: RecordKey, event: AuditEvent): Agent | 'not_found' {
      const agent = findAgent(key)
      if (!agent) return 'not_found'
      if (agent.status === 'revoked') return agent
      const row = setRevoked.get(event.createdAtMs, key.accountId, key.id)
      if (!row) return 'not_found'
      const voided = voidHoldsOfAgent(key.accountId, key.id, event.createdAtMs)
      recordEvent({ ...event, data: { ...event.data, voided_holds: voided } })
      return toAgent(row)
    },
  }
}

export type AgentActs = ReturnType<typeof prepareAgentActs>

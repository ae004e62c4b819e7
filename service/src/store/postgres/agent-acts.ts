import type { QueryConfig } from 'pg'

import type { Agent, AuditEvent } from '../../domain/records.ts'
import { newAgentRow } from '../new-rows.ts'
import { toAgent, type AgentRow } from '../rows.ts'
import type { RecordKey } from '../store.ts'
import { insertEvent, isRecorded, withVoided } from './audit-acts.ts'
import { endHolds } from './hold-acts.ts'
import { insertRow, query, rowsOf } from './queries.ts'
import { insertAccountOf } from './record-accounts.ts'
import type { Transaction } from './transaction.ts'

// The acts on agents.

export async function createAgent(transaction: Transaction, agent: Agent, event: AuditEvent): Promise<void> {
  if (await isRecorded(transaction, event)) return
  await transaction.commit(insertRow(newAgentRow, agent), insertAccountOf(agent), insertEvent(event))
}

export async function revokeAgent(
  transaction: Transaction,
  key: RecordKey,
  event: AuditEvent,
): Promise<Agent | 'not_found'> {
  const [found] = await transaction.ask(lockAgent(key, 'no key update'))
  const [row] = rowsOf<AgentRow>(found)
  if (!row || row.status === 'revoked') {
    await transaction.commit()
    return row ? toAgent(row) : 'not_found'
  }
  const [updated, , ended] = await transaction.ask(
    query(
      `update agents set status = 'revoked', revoked_at_ms = $3 where account_id = $1 and id = $2 returning *`,
      [key.accountId, key.id, event.createdAtMs],
    ),
    // The agent is locked, so it gets no new mandate meanwhile; in one order, as payments lock them.
    query(
      `select 1 from mandates where account_id = $1 and agent_id = $2 order by account_id, id for no key update`,
      [key.accountId, key.id],
    ),
    endHolds('agent_id', key, event.createdAtMs),
  )
  const [agent = row] = rowsOf<AgentRow>(updated)
  await transaction.commit(insertEvent(withVoided(event, ended)))
  return toAgent(agent)
}

/** Keeps an agent as it is until the transaction ends: `share` against a change, the other to change it. */
export function lockAgent(
  { accountId, id, environment }: RecordKey,
  mode: 'share' | 'no key update',
): QueryConfig {
  return query(`select * from agents where account_id = $1 and id = $2 and environment = $3 for ${mode}`, [
    accountId,
    id,
    environment,
  ])
}

/** Why a key or a mandate cannot be made for an agent that was looked up; for none, nothing stands against it. */
export function refusalOfAgent(
  agentId: string | null,
  found: readonly AgentRow[],
): 'not_found' | 'agent_revoked' | undefined {
  if (agentId === null) return undefined
  const [agent] = found
  if (!agent) return 'not_found'
  return agent.status === 'active' ? undefined : 'agent_revoked'
}

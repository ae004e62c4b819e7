import type { Agent, AuditEvent } from '../../../domain/records.ts'
import type { RecordKey } from '../../store.ts'
import { lock, look, put, unchanged, type Operation, type RangeRead } from '../operation.ts'
import { agents, auditEvents, mandates, type AgentRow } from '../tables.ts'
import { endPayments, expiredReads } from './mandates.ts'

export interface NewAgent {
  readonly agent: Agent
  readonly event: AuditEvent
}

export const createAgent: Operation<NewAgent, 'created'> = {
  name: 'createAgent',
  reads: ({ agent }, facts) => (facts.isRerun ? [look(agents, agent)] : []),
  decide: ({ agent, event }, facts) =>
    facts.isRerun && facts.row(agents, agent)
      ? unchanged('created')
      : { outcome: 'created', changes: [put(agents, agent), put(auditEvents, event)] },
}

export interface AgentRevocation {
  readonly agent: RecordKey
  readonly event: AuditEvent
}

/** Revokes an agent, for good, and ends the open payments of all its mandates. */
export const revokeAgent: Operation<AgentRevocation, AgentRow | 'not_found'> = {
  name: 'revokeAgent',

  reads({ agent: key, event }, facts) {
    const range = mandatesOf(key)
    const found = facts.knows(range) ? facts.rows(mandates, range) : []
    return [lock(agents, key), range, ...found.flatMap((mandate) => expiredReads(mandate, event.createdAtMs))]
  },

  decide({ agent: key, event }, facts) {
    const agent = facts.row(agents, key)
    if (agent?.environment !== key.environment) return unchanged('not_found')
    if (agent.status === 'revoked') return unchanged(agent)
    const ended = facts
      .rows(mandates, mandatesOf(key))
      .map((mandate) => endPayments(mandate, facts, event.createdAtMs))
    const revoked = { ...agent, status: 'revoked' as const, revokedAtMs: event.createdAtMs }
    const voided = ended.reduce((sum, one) => sum + one.voided, 0)
    return {
      outcome: revoked,
      changes: [
        put(agents, revoked),
        ...ended.flatMap(({ changes }) => changes),
        put(auditEvents, { ...event, data: { ...event.data, voided_holds: voided } }),
      ],
    }
  },
}

/** An agent has at most so many mandates. */
const maxMandatesOfAgent = 100_000

function mandatesOf({ accountId, id }: RecordKey): RangeRead {
  return {
    kind: 'range',
    table: mandates,
    where: { accountId, agentId: id },
    orderBy: 'id',
    limit: maxMandatesOfAgent,
    isLocked: true,
  }
}

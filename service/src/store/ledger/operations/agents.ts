import type { Agent, AuditEvent } from '../../../domain/records.ts'
import type { RecordKey } from '../../store.ts'
import { lock, put, unchanged, type Operation } from '../operation.ts'
import { agentAccounts, agents, auditEvents, type AgentRow } from '../tables.ts'

export const createAgent: Operation<{ readonly agent: Agent; readonly event: AuditEvent }, 'created'> = {
  name: 'createAgent',
  reads: () => [],
  decide({ agent, event }, facts) {
    const earlier = facts.isRerun ? facts.row(agents, agent) : undefined
    if (earlier && (earlier.name !== agent.name || earlier.environment !== agent.environment)) {
      throw new Error(`another agent has the id ${agent.id}`)
    }
    return earlier
      ? unchanged('created')
      : {
          outcome: 'created',
          changes: [
            put(agents, agent),
            put(agentAccounts, { agentId: agent.id, accountId: agent.accountId }),
            put(auditEvents, event),
          ],
        }
  },
}

export interface AgentRevocation {
  readonly agent: RecordKey
  readonly event: AuditEvent
}

/**
 * Revokes an agent permanently. From then on it gets no proof and none of its proofs is captured, even while
 * its mandates are locked: both operations check the agent. `voidPaymentsOfRevoked` then ends its open
 * payments.
 */
export const revokeAgent: Operation<AgentRevocation, AgentRow | 'not_found'> = {
  name: 'revokeAgent',

  reads: ({ agent: key }) => [lock(agents, key)],

  decide({ agent: key, event }, facts) {
    const agent = facts.row(agents, key)
    if (agent?.environment !== key.environment) return unchanged('not_found')
    if (agent.status === 'revoked') return unchanged(agent)
    const revoked = { ...agent, status: 'revoked' as const, revokedAtMs: event.createdAtMs }
    return {
      outcome: revoked,
      changes: [
        put(agents, revoked),
        put(auditEvents, { ...event, data: { ...event.data, voided_holds: 0 } }),
      ],
    }
  },
}

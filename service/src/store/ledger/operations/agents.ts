import type { Agent, AuditEvent } from '../../../domain/records.ts'
import type { RecordKey } from '../../store.ts'
import { lock, look, put, unchanged, type Operation } from '../operation.ts'
import { agentAccounts, agents, auditEvents, type AgentRow } from '../tables.ts'
import { endPaymentsOf, mandatesAfter, readsOfStep } from './voids.ts'

export interface NewAgent {
  readonly agent: Agent
  readonly event: AuditEvent
}

export const createAgent: Operation<NewAgent, 'created'> = {
  name: 'createAgent',
  reads: ({ agent }, facts) => (facts.isRerun ? [look(agents, agent)] : []),
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

export interface RevokedAgent {
  readonly agent: AgentRow
  /** The payments of the mandates after this one are still to be ended; undefined when none is left. */
  readonly endedUpToId: string | undefined
}

/**
 * Revokes an agent, for good, and ends the open payments of its first mandates. From then on it is granted no proof.
 * `voidPayments` ends those of its other mandates, before the revocation is answered.
 *
 * A capture does not look at the agent: it has locked its mandate, and who ends the payments of the mandate waits for it.
 */
export const revokeAgent: Operation<AgentRevocation, RevokedAgent | 'not_found'> = {
  name: 'revokeAgent',

  reads: ({ agent: key, event }, facts) => [
    lock(agents, key),
    ...readsOfStep(firstMandatesOf(key), facts, event.createdAtMs),
  ],

  decide({ agent: key, event }, facts) {
    const agent = facts.row(agents, key)
    if (agent?.environment !== key.environment) return unchanged('not_found')
    const { voided, lastId, changes } = endPaymentsOf(firstMandatesOf(key), facts, event.createdAtMs)
    // An earlier revocation may have been cut short after its first mandates.
    if (agent.status === 'revoked') return { outcome: { agent, endedUpToId: lastId }, changes }
    const revoked = { ...agent, status: 'revoked' as const, revokedAtMs: event.createdAtMs }
    return {
      outcome: { agent: revoked, endedUpToId: lastId },
      changes: [
        put(agents, revoked),
        ...changes,
        put(auditEvents, { ...event, data: { ...event.data, voided_holds: voided } }),
      ],
    }
  },
}

function firstMandatesOf({ accountId, id: agentId }: RecordKey) {
  return mandatesAfter({ of: { accountId, agentId }, afterId: '' })
}

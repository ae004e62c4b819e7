import { lock, portOperation, put, unchanged } from '../operation.ts'
import { toAgent } from '../reads/records.ts'
import { agentAccounts, agents, auditEvents } from '../tables.ts'

export const createAgent = portOperation('createAgent', {
  reads: () => [],
  decide([agent, event], facts) {
    const earlier = facts.written(agents, agent)
    if (earlier && (earlier.name !== agent.name || earlier.environment !== agent.environment)) {
      throw new Error(`another agent has the id ${agent.id}`)
    }
    if (earlier) return unchanged(undefined)
    const { id: agentId, accountId } = agent
    return {
      outcome: undefined,
      changes: [
        put(agents, { ...agent, endedAtMs: 0 }),
        put(agentAccounts, { agentId, accountId }),
        put(auditEvents, event),
      ],
    }
  },
})

/**
 * Revokes an agent permanently. From then on it gets no proof and none of its proofs is captured, even while
 * its mandates are locked: both operations check the agent. `voidPaymentsOfRevoked` then ends its open
 * payments.
 */
export const revokeAgent = portOperation('revokeAgent', {
  reads: ([key]) => [lock(agents, key)],

  decide([key, event], facts) {
    const agent = facts.row(agents, key)
    if (agent?.environment !== key.environment) return unchanged('not_found')
    if (agent.status === 'revoked') return unchanged(toAgent(agent))
    const revoked = { ...agent, status: 'revoked' as const, revokedAtMs: event.createdAtMs }
    return {
      outcome: toAgent(revoked),
      changes: [
        put(agents, revoked),
        put(auditEvents, { ...event, data: { ...event.data, voided_holds: 0 } }),
      ],
    }
  },
})

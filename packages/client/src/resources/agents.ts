import { listOf, type List } from '../list.ts'
import type { CallOptions } from '../options.ts'
import { path } from '../path.ts'
import type { Send } from '../send.ts'
import type { Agent, AgentChanges, NewAgent, PageQuery } from '../wire-types.ts'

export type Agents = ReturnType<typeof agents>

export function agents(send: Send) {
  return {
    /**
     * Creates an agent. Sent once: after a `ConnectionError` it may exist.
     *
     * @example
     * const { id } = await purser.agents.create({ name: 'research-bot', capabilities: ['search'] })
     */
    create: async (body: NewAgent, options?: CallOptions): Promise<Agent> =>
      (await send({ method: 'POST', path: '/agents', body }, options)).body as Agent,
    /**
     * The agents of the account, newest first; with an agent's key, only that agent.
     *
     * @example
     * const newest = await purser.agents.list().toArray({ limit: 10 })
     */
    list: (query?: PageQuery, options?: CallOptions): List<Agent> => listOf(send, '/agents', query, options),
    /**
     * One agent. Throws a `NotFoundError` if the key cannot see it (Endpoints).
     *
     * @example
     * const { name, status } = await purser.agents.get(agentId)
     */
    get: async (id: string, options?: CallOptions): Promise<Agent> =>
      (await send({ method: 'GET', path: path`/agents/${id}` }, options)).body as Agent,
    /**
     * Assigns an agent to a shared budget, in which its payments then count; null for none. Throws a `NotFoundError`
     * for an unknown agent or budget, and with `expected_budget_id` an `ApiError` with code `version_mismatch` if the
     * agent is in another one meanwhile.
     *
     * @example
     * const { budget_id } = await purser.agents.update(agentId, { budget_id: budgetId })
     */
    update: async (id: string, body: AgentChanges, options?: CallOptions): Promise<Agent> =>
      (await send({ method: 'PATCH', path: path`/v1/agents/${id}`, body }, options)).body as Agent,
    /**
     * Revokes an agent permanently, and voids its open proofs at once. Throws a `NotFoundError` for an unknown one
     * (Endpoints).
     *
     * @example
     * const { status } = await purser.agents.revoke(agentId) // 'revoked'
     */
    revoke: async (id: string, options?: CallOptions): Promise<Agent> =>
      (await send({ method: 'PATCH', path: path`/agents/${id}/revoke` }, options)).body as Agent,
  }
}

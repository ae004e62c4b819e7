import { listOf, type List } from '../list.ts'
import type { CallOptions } from '../options.ts'
import { path } from '../path.ts'
import type { Send } from '../send.ts'
import type { Agent, AgentChanges, NewAgent, PageQuery } from '../wire-types.ts'

export type Agents = ReturnType<typeof agents>

export function agents(send: Send) {
  return {
    /** Creates an agent. Never retried automatically. */
    create: async (body: NewAgent, options?: CallOptions): Promise<Agent> =>
      (await send({ method: 'POST', path: '/agents', body }, options)).body as Agent,
    /** The agents of the account, newest first. */
    list: (query?: PageQuery, options?: CallOptions): List<Agent> => listOf(send, '/agents', query, options),
    /** One agent. Throws a `NotFoundError` if the key cannot see it. */
    get: async (id: string, options?: CallOptions): Promise<Agent> =>
      (await send({ method: 'GET', path: path`/agents/${id}` }, options)).body as Agent,
    /**
     * Assigns an agent to a shared budget: `{ budget_id }`; null for none. With `expected_budget_id`, throws an
     * `ApiError` with code `version_mismatch` if the agent is in another one meanwhile.
     */
    update: async (id: string, body: AgentChanges, options?: CallOptions): Promise<Agent> =>
      (await send({ method: 'PATCH', path: path`/v1/agents/${id}`, body }, options)).body as Agent,
    /** Revokes an agent permanently, and voids its open proofs at once. */
    revoke: async (id: string, options?: CallOptions): Promise<Agent> =>
      (await send({ method: 'PATCH', path: path`/agents/${id}/revoke` }, options)).body as Agent,
  }
}

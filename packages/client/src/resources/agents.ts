import { listOf, type List } from '../list.ts'
import type { CallOptions } from '../options.ts'
import { path } from '../path.ts'
import type { Send } from '../send.ts'
import type { Agent, NewAgent, PageQuery } from '../wire-types.ts'

export type Agents = ReturnType<typeof agents>

export function agents(send: Send) {
  return {
    /** Creates an agent. Sent once, never again by itself. */
    create: async (body: NewAgent, options?: CallOptions): Promise<Agent> =>
      (await send({ method: 'POST', path: '/agents', body }, options)).body as Agent,
    /** The agents of the account, newest first. */
    list: (query?: PageQuery, options?: CallOptions): List<Agent> => listOf(send, '/agents', query, options),
    /** One agent; a `NotFoundError` when the key sees none of this id. */
    get: async (id: string, options?: CallOptions): Promise<Agent> =>
      (await send({ method: 'GET', path: path`/agents/${id}` }, options)).body as Agent,
    /** Revokes an agent for good, and ends its open proofs at once. */
    revoke: async (id: string, options?: CallOptions): Promise<Agent> =>
      (await send({ method: 'PATCH', path: path`/agents/${id}/revoke` }, options)).body as Agent,
  }
}

import { listOf, type List } from '../list.ts'
import type { CallOptions } from '../options.ts'
import { path } from '../path.ts'
import type { Send } from '../send.ts'
import type { Mandate, NewMandate, PageQuery } from '../wire-types.ts'

export type Mandates = ReturnType<typeof mandates>

export function mandates(send: Send) {
  return {
    /** Creates a mandate; amounts are text, in USDC. Sent once, never again by itself. */
    create: async (body: NewMandate, options?: CallOptions): Promise<Mandate> =>
      (await send({ method: 'POST', path: '/mandates', body }, options)).body as Mandate,
    /** The mandates of the account, newest first. */
    list: (query?: PageQuery, options?: CallOptions): List<Mandate> =>
      listOf(send, '/mandates', query, options),
    /** One mandate; a `NotFoundError` when the key sees none of this id. */
    get: async (id: string, options?: CallOptions): Promise<Mandate> =>
      (await send({ method: 'GET', path: path`/mandates/${id}` }, options)).body as Mandate,
    /** Pauses a mandate, and ends its open proofs at once. */
    pause: async (id: string, options?: CallOptions): Promise<Mandate> =>
      (await send({ method: 'PATCH', path: path`/mandates/${id}/pause` }, options)).body as Mandate,
    /** Resumes a paused mandate; a `ConflictError` when it is revoked. Proofs that the pause ended stay ended. */
    resume: async (id: string, options?: CallOptions): Promise<Mandate> =>
      (await send({ method: 'PATCH', path: path`/mandates/${id}/resume` }, options)).body as Mandate,
    /** Revokes a mandate for good, and ends its open proofs at once. */
    revoke: async (id: string, options?: CallOptions): Promise<Mandate> =>
      (await send({ method: 'PATCH', path: path`/mandates/${id}/revoke` }, options)).body as Mandate,
  }
}

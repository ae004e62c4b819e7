import { listOf, type List } from '../list.ts'
import type { CallOptions } from '../options.ts'
import { path } from '../path.ts'
import type { Send } from '../send.ts'
import type { Mandate, NewMandate, PageQuery } from '../wire-types.ts'

export type Mandates = ReturnType<typeof mandates>

export function mandates(send: Send) {
  return {
    /** Creates a mandate; amounts are strings in USDC. Never retried automatically. */
    create: async (body: NewMandate, options?: CallOptions): Promise<Mandate> =>
      (await send({ method: 'POST', path: '/mandates', body }, options)).body as Mandate,
    /** The mandates of the account, newest first. */
    list: (query?: PageQuery, options?: CallOptions): List<Mandate> =>
      listOf(send, '/mandates', query, options),
    /** One mandate. Throws a `NotFoundError` if the key cannot see it. */
    get: async (id: string, options?: CallOptions): Promise<Mandate> =>
      (await send({ method: 'GET', path: path`/mandates/${id}` }, options)).body as Mandate,
    /** Pauses a mandate, and voids its open proofs at once. */
    pause: async (id: string, options?: CallOptions): Promise<Mandate> =>
      (await send({ method: 'PATCH', path: path`/mandates/${id}/pause` }, options)).body as Mandate,
    /**
     * Resumes a paused mandate. Throws a `ConflictError` if it is revoked. Proofs voided by the pause stay
     * void.
     */
    resume: async (id: string, options?: CallOptions): Promise<Mandate> =>
      (await send({ method: 'PATCH', path: path`/mandates/${id}/resume` }, options)).body as Mandate,
    /** Revokes a mandate permanently, and voids its open proofs at once. */
    revoke: async (id: string, options?: CallOptions): Promise<Mandate> =>
      (await send({ method: 'PATCH', path: path`/mandates/${id}/revoke` }, options)).body as Mandate,
  }
}

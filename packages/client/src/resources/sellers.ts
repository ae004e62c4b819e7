import { listOf, type List } from '../list.ts'
import type { CallOptions } from '../options.ts'
import type { Send } from '../send.ts'
import type { NewSeller, PageQuery, Seller } from '../wire-types.ts'

export type Sellers = ReturnType<typeof sellers>

export function sellers(send: Send) {
  return {
    /** Registers a seller under its domain. */
    create: async (body: NewSeller, options?: CallOptions): Promise<Seller> =>
      (await send({ method: 'POST', path: '/sellers', body }, options)).body as Seller,
    /** The sellers of the account, newest first. */
    list: (query?: PageQuery, options?: CallOptions): List<Seller> =>
      listOf(send, '/sellers', query, options),
  }
}

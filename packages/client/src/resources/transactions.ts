import { listOf, type List } from '../list.ts'
import type { CallOptions } from '../options.ts'
import { path } from '../path.ts'
import type { Send } from '../send.ts'
import type { ListTransactionsQuery, Transaction } from '../wire-types.ts'

export type Transactions = ReturnType<typeof transactions>

export function transactions(send: Send) {
  return {
    /** The transactions that the key may see, newest first. */
    list: (query?: ListTransactionsQuery, options?: CallOptions): List<Transaction> =>
      listOf(send, '/v1/transactions', query, options),
    /** One transaction; a `NotFoundError` when the key sees none of this id. */
    get: async (id: string, options?: CallOptions): Promise<Transaction> =>
      (await send({ method: 'GET', path: path`/v1/transactions/${id}` }, options)).body as Transaction,
  }
}

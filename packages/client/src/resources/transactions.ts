import { listOf, type List } from '../list.ts'
import type { CallOptions } from '../options.ts'
import { path } from '../path.ts'
import { bodyOf } from '../response-body.ts'
import type { Open, Send } from '../send.ts'
import type { ListTransactionsQuery, Transaction, TransactionsQuery } from '../wire-types.ts'

export type Transactions = ReturnType<typeof transactions>

export function transactions(send: Send, open: Open) {
  return {
    /** The transactions that the key may see, newest first. */
    list: (query?: ListTransactionsQuery, options?: CallOptions): List<Transaction> =>
      listOf(send, '/v1/transactions', query, options),
    /** One transaction. Throws a `NotFoundError` if the key cannot see it. */
    get: async (id: string, options?: CallOptions): Promise<Transaction> =>
      (await send({ method: 'GET', path: path`/v1/transactions/${id}` }, options)).body as Transaction,
    /**
     * Every matching transaction that the key may see, newest first, as a CSV stream. With a merchant key
     * these are its sales.
     *
     * @example
     * const csv = await purser.transactions.exportCsv({ created_from: '2026-11-01T00:00:00Z' })
     * await writeFile('sales.csv', csv)
     */
    exportCsv: async (
      query?: TransactionsQuery,
      options?: { readonly signal?: AbortSignal | undefined },
    ): Promise<ReadableStream<Uint8Array>> => {
      const request = { method: 'GET', path: '/v1/transactions.csv', query } as const
      return bodyOf(await open({ ...request, headers: { accept: 'text/csv' } }, options))
    },
  }
}

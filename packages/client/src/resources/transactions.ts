import { sendOnce, type IdempotentOptions } from '../send-once.ts'
import { listOf, type List } from '../list.ts'
import type { CallOptions } from '../options.ts'
import { path } from '../path.ts'
import type { Open, Send } from '../send.ts'
import type { ListTransactionsQuery, RefundRequest, Transaction, TransactionsQuery } from '../wire-types.ts'

export type Transactions = ReturnType<typeof transactions>

export function transactions(send: Send, open: Open) {
  return {
    /**
     * The transactions that the key may see, newest first.
     *
     * @example
     * const paid = purser.transactions.list({ mandate_id: mandateId, status: 'paid' })
     * for await (const { id, amount, refunded_total } of paid) console.log(id, amount, refunded_total)
     */
    list: (query?: ListTransactionsQuery, options?: CallOptions): List<Transaction> =>
      listOf(send, '/v1/transactions', query, options),
    /**
     * One transaction. Throws a `NotFoundError` if the key cannot see it.
     *
     * @example
     * const { amount, refunded_total } = await purser.transactions.get(transactionId)
     */
    get: async (id: string, options?: CallOptions): Promise<Transaction> =>
      (await send({ method: 'GET', path: path`/v1/transactions/${id}` }, options)).body as Transaction,
    /**
     * Refunds a payment that your account has collected, in full or in part; resolves to the refund, a transaction
     * with the status `refunded`. Throws a `ConflictError` with the code `refund_exceeds_payment` if all refunds
     * together would exceed the payment. Retried with the same key; pass your own to cover your own retries too.
     *
     * @example
     * const refund = await purser.transactions.refund(id, { amount: '1.50' }, { idempotencyKey: 'return-17' })
     */
    refund: async (id: string, body: RefundRequest, options?: IdempotentOptions): Promise<Transaction> =>
      (await sendOnce(send, { path: path`/v1/transactions/${id}/refund`, body }, options)) as Transaction,
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
      return open({ path: '/v1/transactions.csv', query }, options)
    },
  }
}

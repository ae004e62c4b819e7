import assert from 'node:assert/strict'
import { test } from 'node:test'

import { openInterruptedReads } from '../../../../testing/ledgers/interrupted-reads.ts'
import { prepareTransactionReads } from '../reads/transactions.ts'
import { distributedReader } from './postgres-reader.ts'

test('On distributed accounts, a sale that is made while a page is read is left to the next read', async (context) => {
  const { ledger, readerWith } = await openInterruptedReads(context)
  const seller = await ledger.tenant()
  await ledger.seller(seller.sandbox)
  const mandate = await ledger.mandate((await ledger.tenant()).sandbox)
  const sell = async () => ledger.pay(seller.sandbox, await ledger.hold(mandate))
  const sales = [await sell(), await sell()]
  const reader = readerWith(async (statement) => {
    // Between the statements of a page.
    if (statement.trimStart().startsWith('select payer_id')) sales.push(await sell())
  })
  const { listConsoleTransactions, newestTransactions } = prepareTransactionReads(distributedReader(reader))
  const reads = [
    () => newestTransactions(seller.sandbox, { id: '', limit: 10 }),
    () => listConsoleTransactions(seller.sandbox, {}, { limit: 10 }),
  ]
  for (const read of reads) {
    const newestFirst = sales.toReversed()
    assert.deepEqual(
      (await read()).items.map(({ id }) => id),
      newestFirst,
    )
    assert.ok(sales.length > newestFirst.length)
  }
})

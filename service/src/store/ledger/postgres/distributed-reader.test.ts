import assert from 'node:assert/strict'
import { test } from 'node:test'

import { postgres18 } from '../../../../testing/postgres.ts'
import { StoreLedger } from '../../../../testing/store-ledger.ts'
import { createIdsOfTimes } from '../../../ids.ts'
import type { Reader } from '../../sql.ts'
import { prepareTransactionReads } from '../reads/transactions.ts'
import { openPool } from './connection.ts'
import { openPostgresLedgerStore } from './postgres-ledger-store.ts'
import { distributedReader, readerOn, readerOver } from './postgres-reader.ts'

test('On distributed accounts, a sale that is made while a page is read is left to the next read', async (context) => {
  const { url, drop } = await postgres18.createDatabase()
  const store = await openPostgresLedgerStore({ url, nextId: createIdsOfTimes() })
  const pool = openPool(url, { max: 1 })
  context.after(async () => {
    await pool.end()
    await store.close()
    await drop()
  })
  const ledger = new StoreLedger({ store, close: () => store.close() })
  const seller = await ledger.tenant()
  await ledger.seller(seller.sandbox)
  const mandate = await ledger.mandate((await ledger.tenant()).sandbox)
  const sell = async () => ledger.pay(seller.sandbox, await ledger.hold(mandate))
  const sales = [await sell(), await sell()]
  const query: Reader['query'] = async (text, values) => {
    const rows = await readerOn(pool).query(text, values)
    // Between the statements of a page.
    if (text.trimStart().startsWith('select payer_id')) sales.push(await sell())
    return rows
  }
  const { listConsoleTransactions, newestTransactions } = prepareTransactionReads(
    distributedReader(readerOver(query)),
  )
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

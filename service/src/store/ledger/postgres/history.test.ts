import assert from 'node:assert/strict'
import { test } from 'node:test'

import { postgres18 } from '../../../../testing/postgres.ts'
import { StoreLedger } from '../../../../testing/store-ledger.ts'
import { createIdsOfTimes } from '../../../ids.ts'
import type { Reader } from '../../sql.ts'
import { prepareHistory } from '../reads/history.ts'
import { openPool } from './connection.ts'
import { openPostgresLedgerStore } from './postgres-ledger-store.ts'
import { ledgerReader, readerOn, readerOver } from './postgres-reader.ts'

test('A back-test judges every payment, although one with an earlier nonce is committed while it reads', async (context) => {
  const { url, drop } = await postgres18.createDatabase()
  const store = await openPostgresLedgerStore({ url, nextId: createIdsOfTimes() })
  const pool = openPool(url, { max: 1 })
  context.after(async () => {
    await pool.end()
    await store.close()
    await drop()
  })
  const ledger = new StoreLedger({ store, close: () => store.close() })
  const { sandbox } = await ledger.tenant()
  const mandate = await ledger.mandate(sandbox, { maxTotalText: '10000.00' })
  const late = ledger.newHold(mandate, '1.00')
  // As many as one statement reads, and one more.
  for (let made = 0; made < 2_001; made += 87) {
    await Promise.all(Array.from({ length: 87 }, () => ledger.hold(mandate, '1.00')))
  }
  let isCommitted = false
  const query: Reader['query'] = async (text, values) => {
    const rows = await readerOn(pool).query(text, values)
    if (!isCommitted && text.includes('nonce, issued_at_ms')) {
      isCommitted = true
      await ledger.ask(mandate, '1.00', { hold: late })
    }
    return rows
  }
  const { backtest } = prepareHistory(ledgerReader(readerOver(query)))
  const question = { draft: {}, fromMs: 0, toMs: ledger.clock.nowMs + 1, now: () => performance.now() }
  const report = await backtest(mandate, question)
  assert.equal(report?.judged, 2_002)
})

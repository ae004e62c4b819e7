import assert from 'node:assert/strict'
import { test } from 'node:test'

import { openInterruptedReads } from '../../../../testing/ledgers/interrupted-reads.ts'
import { prepareHistory } from '../reads/history.ts'
import { ledgerReader } from './postgres-reader.ts'

test('A back-test judges every payment, although one with an earlier nonce is committed while it reads', async (context) => {
  const { ledger, readerWith } = await openInterruptedReads(context)
  const { sandbox } = await ledger.tenant()
  const mandate = await ledger.mandate(sandbox, { maxTotalText: '10000.00' })
  const late = ledger.newHold(mandate, '1.00')
  // As many as one statement reads, and one more.
  for (let made = 0; made < 2_001; made += 87) {
    await Promise.all(Array.from({ length: 87 }, () => ledger.hold(mandate, '1.00')))
  }
  let isCommitted = false
  const reader = readerWith(async (statement) => {
    if (isCommitted || !statement.includes('nonce, issued_at_ms')) return
    isCommitted = true
    await ledger.ask(mandate, '1.00', { hold: late })
  })
  const { backtest } = prepareHistory(ledgerReader(reader))
  const question = { draft: {}, fromMs: 0, toMs: ledger.clock.nowMs + 1, now: () => performance.now() }
  const report = await backtest(mandate, question)
  assert.equal(report?.judged, 2_002)
})

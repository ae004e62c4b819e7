import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

import { holdLifeMs, StoreLedger } from '../../../testing/store-ledger.ts'
import { openSqliteStore } from './sqlite-store.ts'

test('A sweep ends 1,000 holds of one mandate at the most, and the next use of the mandate ends the rest [decision.10]', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'purser-test-'))
  const store = openSqliteStore({ path: join(folder, 'purser.db') })
  const ledger = new StoreLedger({ store, close: () => store.close() })
  context.after(async () => {
    await ledger.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const owner = await ledger.tenant()
  const swept = await ledger.mandate(owner.sandbox, { maxTotalText: '2500.00' })
  const used = await ledger.mandate(owner.sandbox, { maxTotalText: '2500.00' })
  for (const mandate of [swept, used]) {
    await Promise.all(Array.from({ length: 2_500 }, () => ledger.hold(mandate)))
  }
  ledger.clock.nowMs += holdLifeMs
  assert.equal(await store.releaseExpiredHolds(ledger.clock.nowMs, 1), 1_000)
  assert.deepEqual(await ledger.sums(swept), { spent: '0.00', held: '1500.00' })

  await ledger.hold(used, '10.00')
  assert.deepEqual(await ledger.sums(used), { spent: '0.00', held: '10.00' })

  assert.equal(await ledger.sweep(), 1_500)
  assert.deepEqual(await ledger.sums(swept), { spent: '0.00', held: '0.00' })
  assert.deepEqual(await store.findLedgerFaults(), [])
})

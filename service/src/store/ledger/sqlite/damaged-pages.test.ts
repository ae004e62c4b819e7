import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

import { damageRoot } from '../../../../testing/ledgers/damaged-file.ts'
import { createIdsOfTimes } from '../../../ids.ts'
import { StoreUnavailableError, type Store } from '../../store.ts'
import { openSqliteLedgerStore } from './sqlite-ledger-store.ts'

const works: readonly (readonly [part: string, what: string, work: (store: Store) => Promise<unknown>])[] = [
  ['sqlite_autoindex_mandates_1', 'a sweep', (store) => store.releaseExpiredHolds(1, 10)],
  ['running_stops', 'a search for stops', (store) => store.continueStops(() => 1)],
  ['activity_parts', "an update of the console's sums", (store) => store.addUpActivity()],
]

for (const [part, what, work] of works) {
  test(`If ${what} reads a damaged page, the store is unavailable`, async (context) => {
    const folder = mkdtempSync(join(tmpdir(), 'purser-test-'))
    const path = join(folder, 'purser.db')
    await openSqliteLedgerStore({ path, nextId: createIdsOfTimes() }).close()
    damageRoot(path, part)
    const store = openSqliteLedgerStore({ path, nextId: createIdsOfTimes() })
    context.after(async () => {
      await store.close()
      rmSync(folder, { recursive: true })
    })
    await assert.rejects(work(store), (error) => {
      assert(error instanceof StoreUnavailableError)
      assert.match(error.message, /SQLITE_CORRUPT/)
      return true
    })
  })
}

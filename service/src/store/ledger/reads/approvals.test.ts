import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

import Database from 'better-sqlite3'

import { shopDomain, StoreLedger } from '../../../../testing/store-ledger.ts'
import { createIdsOfTimes } from '../../../ids.ts'
import type { Reader } from '../../sql.ts'
import { openSqliteLedgerStore } from '../sqlite/sqlite-ledger-store.ts'
import { readerOf, readerOver } from '../sqlite/sqlite-reader.ts'
import { prepareApprovalReads } from './approvals.ts'

test('The sellers paid so far include one whose payment is added up while they are read', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'purser-test-'))
  const path = join(folder, 'purser.db')
  const store = openSqliteLedgerStore({ path, nextId: createIdsOfTimes() })
  const database = new Database(path, { readonly: true }).defaultSafeIntegers(true)
  context.after(async () => {
    database.close()
    await store.close()
    rmSync(folder, { recursive: true })
  })
  const ledger = new StoreLedger({ store, close: () => store.close() })
  const { sandbox } = await ledger.tenant()
  const mandate = await ledger.mandate(sandbox)
  await ledger.pay(sandbox, await ledger.hold(mandate))
  const query: Reader['query'] = async (text, values) => {
    const rows = await readerOf(database).query(text, values)
    while (await store.addUpActivity());
    return rows
  }
  const { listPaidDomains } = prepareApprovalReads(readerOver(query))
  assert.deepEqual(await listPaidDomains(mandate), [shopDomain])
})

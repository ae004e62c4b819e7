import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'

import { damagePages } from '../../../../testing/ledgers/damaged-file.ts'
import { checkSqliteFile } from './check-file.ts'
import { createIdsOfTimes } from '../../../ids.ts'
import { openSqliteLedgerStore } from './sqlite-ledger-store.ts'

test('A sound ledger is reported as sound, even while a service uses it', async (context) => {
  const path = pathFor(context)
  const store = openSqliteLedgerStore({ path, nextId: createIdsOfTimes() })
  assert.equal(await checkSqliteFile(path, { timeoutMs: 30_000 }), 'sound')
  await store.close()
  const files = readdirSync(join(path, '..'))
  assert.equal(await checkSqliteFile(path, { timeoutMs: 30_000 }), 'sound')
  assert.deepEqual(readdirSync(join(path, '..')), files)
})

test('A ledger with a damaged page is reported as damaged, though its header is intact', async (context) => {
  const path = pathFor(context)
  await openSqliteLedgerStore({ path, nextId: createIdsOfTimes() }).close()
  damagePages(path)
  const outcome = await checkSqliteFile(path, { timeoutMs: 30_000 })
  assert(typeof outcome === 'object', JSON.stringify(outcome))
  assert.match(outcome.damage, /SQLITE_CORRUPT|database disk image is malformed|btree|page/i)
})

test('A check of a file stops at its time limit', async (context) => {
  const path = pathFor(context)
  await openSqliteLedgerStore({ path, nextId: createIdsOfTimes() }).close()
  assert.equal(await checkSqliteFile(path, { timeoutMs: 1 }), 'unfinished')
})

function pathFor(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'purser-test-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'purser.db')
}

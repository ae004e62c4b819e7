import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

import Database from 'better-sqlite3'

import { createIds } from '../ids.ts'
import { openSqliteLedgerStore } from '../store/ledger/sqlite/sqlite-ledger-store.ts'
import { prepareFirstStart } from './first-start.ts'

test('A first start shows its keys even if the sign-in link cannot be stored', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'purser-test-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'purser.db')
  const ids = createIds(Date.now)
  await openSqliteLedgerStore({ path, nextId: ids.next }).close()
  const refusal = "begin select raise(abort, 'no session is stored'); end"
  new Database(path).exec(`create trigger no_sessions before insert on sessions ${refusal}`).close()
  const store = openSqliteLedgerStore({ path, nextId: ids.next })
  context.after(() => store.close())

  const chosen = { sandbox: undefined, production: undefined }
  const minted = await prepareFirstStart({ store, now: Date.now, ids, randomBytes }, chosen)
  assert.match(minted?.sandbox ?? '', /^svc_sand_/)
  assert.match(minted?.production ?? '', /^svc_prod_/)
  assert.equal(minted?.setUpToken, undefined)
  assert.equal(await store.isEmpty(), false)
})

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'

import { testCommand } from '../../../packages/cli/testing/command.ts'
import { createIdsOfTimes } from '../ids.ts'
import { openSqliteLedgerStore } from '../store/ledger/sqlite/sqlite-ledger-store.ts'

test('Of two backups that are written to one file at once, one is refused', async (context) => {
  const { folder, purser } = testCommand(context)
  const path = join(folder, 'ledger.db')
  await openSqliteLedgerStore({ path, nextId: createIdsOfTimes() }).close()
  const back = () => purser('backup', 'backup.db', '--database', `sqlite:${path}`)
  const ends = await Promise.all([back(), back()])
  assert.deepEqual(new Set(ends.map(({ code }) => code)), new Set([0, 1]))
  assert.match(ends.map(({ errors }) => errors).join(''), /backup\.db already exists; choose another file/)
})

import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'

import { copySqliteFile } from '../backup/copy-file.ts'
import { restoreFile } from './restore-file.ts'
import { createIdsOfTimes } from '../ids.ts'
import { openSqliteLedgerStore } from '../store/ledger/sqlite/sqlite-ledger-store.ts'

test('Two restores within one second both keep the replaced ledger', async (context) => {
  const { path, backup, signal } = await backUp(context)

  const nowMs = Date.parse('2026-07-01T12:00:00.001Z')
  const first = await restoreFile({ backup, path, nowMs, signal })
  const second = await restoreFile({ backup, path, nowMs: nowMs + 1, signal })

  assert.notEqual(first.keptPath, second.keptPath)
  for (const { keptPath } of [first, second]) assert.ok(existsSync(keptPath ?? ''), keptPath)
})

test('A restore removes what an interrupted one has left', async (context) => {
  const { folder, path, backup, signal } = await backUp(context)
  for (const suffix of ['', '-wal', '-shm', '.lock']) writeFileSync(`${path}.0123abcd.restoring${suffix}`, '')
  writeFileSync(`${path}.mine.restoring`, '')
  await restoreFile({ backup, path, nowMs: 0, signal })
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.includes('.restoring')),
    ['purser.db.mine.restoring'],
  )
})

/** A ledger and its backup, in a folder that is removed when the test ends. */
async function backUp(context: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'purser-test-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'purser.db')
  const backup = join(folder, 'backup.db')
  await openSqliteLedgerStore({ path, nextId: createIdsOfTimes() }).close()
  const { signal } = new AbortController()
  await copySqliteFile({ from: path, to: backup, signal })
  return { folder, path, backup, signal }
}

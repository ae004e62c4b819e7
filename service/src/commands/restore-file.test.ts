import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { test, type TestContext } from 'node:test'

import { testCommand } from '../../../packages/cli/testing/command.ts'
import { copySqliteFile } from '../backup/copy-file.ts'
import { restoreFile } from './restore-file.ts'
import { createIdsOfTimes } from '../ids.ts'
import { openSqliteFile } from '../store/ledger/sqlite/open.ts'
import { StoreLedger } from '../../testing/store-ledger.ts'
import { openSqliteLedgerStore } from '../store/ledger/sqlite/sqlite-ledger-store.ts'

test('Two restores within one second both keep the replaced ledger', async (context) => {
  const { path, backup, signal } = await backUp(context)

  const nowMs = Date.parse('2026-07-01T12:00:00.001Z')
  const first = await restoreFile({ backup, path, nowMs, signal })
  const second = await restoreFile({ backup, path, nowMs: nowMs + 1, signal })

  assert.notEqual(first.keptPath, second.keptPath)
  for (const { keptPath } of [first, second]) assert.ok(existsSync(keptPath ?? ''), keptPath)
})

test('A ledger that is restored from itself says nothing about what was revoked since, so every key is listed', async (context) => {
  const { path, signal } = await backUp(context)
  const { revived } = await restoreFile({ backup: path, path, nowMs: 0, signal })
  assert.equal(revived, undefined)
})

test('A ledger that is restored from itself is whole without its log before that is renamed, in case the restore is killed then', async (context) => {
  const { folder, path, signal } = await backUp(context)
  const store = openSqliteLedgerStore({ path, nextId: createIdsOfTimes() })
  await new StoreLedger({ store, close: () => store.close() }).tenant()
  const left = join(folder, 'left.db')
  for (const suffix of ['', '-wal']) copyFileSync(`${path}${suffix}`, `${left}${suffix}`)
  await store.close()
  const { keptPath = '' } = await restoreFile({ backup: left, path: left, nowMs: 0, signal })
  assert.ok(!existsSync(`${keptPath}-wal`))
  const kept = openSqliteFile(keptPath)
  context.after(kept.close)
  assert.equal(kept.database.prepare('select count(*) from accounts').pluck().get(), 1n)
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

test('A restore that is killed just before it replaces the ledger leaves the old one, which opens', async (context) => {
  const { folder, path, backup, signal } = await backUp(context)
  const store = openSqliteLedgerStore({ path, nextId: createIdsOfTimes() })
  await new StoreLedger({ store, close: () => store.close() }).tenant()
  await store.close()
  const program = `
    import fs from 'node:fs'
    import { syncBuiltinESMExports } from 'node:module'
    const [restoring, backup, path] = process.argv.slice(1)
    const { renameSync } = fs
    fs.renameSync = (from, to) => (to === path ? process.kill(process.pid, 'SIGKILL') : renameSync(from, to))
    syncBuiltinESMExports()
    const { restoreFile } = await import(restoring)
    await restoreFile({ backup, path, nowMs: 0, signal: new AbortController().signal })`
  const args = ['--input-type=module', '-e', program, import.meta.resolve('./restore-file.ts'), backup, path]
  assert.equal(spawnSync(process.execPath, args).signal, 'SIGKILL')
  const kept = () => readdirSync(folder).filter((name) => name.includes('.before-restore-'))
  assert.equal(kept().length, 1)

  const { database, close } = openSqliteFile(path)
  assert.equal(database.prepare('select count(*) from accounts').pluck().get(), 1n)
  close()
  assert.deepEqual(kept(), [])
  const { keptPath = '' } = await restoreFile({ backup, path, nowMs: 0, signal })
  assert.deepEqual([kept(), statSync(keptPath).nlink], [[basename(keptPath)], 1])
})

test('A restore onto a dangling link is refused, and changes nothing', async (context) => {
  const { folder, path, backup, signal } = await backUp(context)
  const link = join(folder, 'link.db')
  symlinkSync('missing.db', link)
  const before = readdirSync(folder)
  await assert.rejects(restoreFile({ backup, path: link, nowMs: 0, signal }), {
    name: 'StoreOpenError',
    code: 'dangling_link',
  })
  assert.deepEqual(readdirSync(folder), before)
  // Once its file is there, the link leads to the restored ledger.
  renameSync(path, join(folder, 'missing.db'))
  await restoreFile({ backup, path: link, nowMs: 0, signal })
  assert.equal(readlinkSync(link), 'missing.db')
})

test('A backup is no ledger: whatever would use it as one says to restore it', async (context) => {
  const { folder, purser } = testCommand(context, { PURSER_DATABASE: 'sqlite:copied.db' })
  await openSqliteLedgerStore({ path: join(folder, 'purser.db'), nextId: createIdsOfTimes() }).close()
  assert.equal((await purser('backup', 'copied.db', '--database', 'sqlite:purser.db')).code, 0)
  const advice =
    'is a backup, which lacks later payments, revocations and stops; restore it with purser restore'
  for (const command of ['doctor', 'migrate status', 'migrate up', 'backup again.db']) {
    const { code, output, errors } = await purser(...command.split(' '))
    assert.equal(code, 1, command)
    assert.ok(`${output}${errors}`.includes(advice), `${command}: ${output}${errors}`)
  }
  const opening = { path: join(folder, 'copied.db'), nextId: createIdsOfTimes() }
  assert.throws(() => openSqliteLedgerStore(opening), { name: 'StoreOpenError', message: / is a backup, / })
  assert.equal((await purser('ledger', 'check')).code, 0)
  const restored = ['--database', 'sqlite:purser.db']
  assert.equal((await purser('restore', 'copied.db', ...restored)).code, 0)
  assert.equal((await purser('migrate', 'status', ...restored)).code, 0)
})

/** A ledger and its backup, in a folder that is removed when the test ends. */
async function backUp(context: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'purser-test-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'purser.db')
  const backup = join(folder, 'backup.db')
  await openSqliteLedgerStore({ path, nextId: createIdsOfTimes() }).close()
  const { signal } = new AbortController()
  await copySqliteFile({ from: path, to: backup, as: 'backup', signal })
  return { folder, path, backup, signal }
}

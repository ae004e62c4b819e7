import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test, type TestContext } from 'node:test'

import Database from 'better-sqlite3'

import { StoreLedger } from '../../../../testing/store-ledger.ts'
import { createIdsOfTimes } from '../../../ids.ts'
import { StoreUnavailableError, type Store } from '../../store.ts'
import { readStops } from '../operations/stops.ts'
import { SqliteLedger } from './ledger-thread.ts'
import { extendLog } from './open.ts'
import { openSqliteLedgerStore } from './sqlite-ledger-store.ts'

const readNothing = [readStops, { accountId: '', environment: 'sandbox' }] as const

test('A thread that cannot open its file fails every call as unavailable, and can be closed', async (context) => {
  const thread = threadFor(join(folderFor(context), 'missing', 'purser.db'))
  for (const when of ['while it starts', 'after it has ended']) {
    await assert.rejects(thread.run(...readNothing), StoreUnavailableError, when)
  }
  await thread.close()
})

test('A store whose thread has ended reports that it is not ready', async (context) => {
  const path = join(folderFor(context), 'purser.db')
  const store = openAt(path)
  context.after(() => store.close())
  // The file is deleted before the thread opens it.
  new Database(path).exec('drop table index_marks').close()
  await assert.rejects(store.addTallies({ refusals: [], keyUses: [] }), StoreUnavailableError)
  await assert.rejects(store.checkReady(), StoreUnavailableError)
})

test('If there is no room for the whole log, the ledger is still written', (context) => {
  const folder = folderFor(context)
  const program = join(folder, 'program.ts')
  writeFileSync(
    program,
    `
    import { openSqliteLedgerStore } from ${JSON.stringify(join(import.meta.dirname, 'sqlite-ledger-store.ts'))}
    const store = openSqliteLedgerStore({ path: ${JSON.stringify(join(folder, 'purser.db'))}, nextId: () => '' })
    const refusal = { subject: 'a', reason: 'nonce_reused', startsAtMs: 0, count: 1 }
    const accountId = ${JSON.stringify(accountId)}
    await store.addTallies({ refusals: [{ ...refusal, accountId, environment: 'sandbox' }], keyUses: [] })
    await store.close()
    console.log('written')`,
  )
  // No file may grow to the full length of the log.
  const limited = ['-c', 'ulimit -f 8192 && exec "$0" "$@"', process.execPath, program]
  const { stdout, stderr, status } = spawnSync('sh', limited, { encoding: 'utf8', timeout: 30_000 })
  assert.deepEqual({ stdout, stderr, status }, { stdout: 'written\n', stderr: '', status: 0 })
})

test('A thread that fails while it closes is closed, even if nothing else keeps the process alive', (context) => {
  const program = `
    import { setTimeout as sleep } from 'node:timers/promises'
    import { SqliteLedger } from ${JSON.stringify(new URL('ledger-thread.ts', import.meta.url).href)}
    const options = { path: ${JSON.stringify(join(folderFor(context), 'missing', 'purser.db'))}, maxBatch: 1, maxWaiting: 1 }
    for (let turn = 0; turn < 12; turn++) {
      const thread = new SqliteLedger(options)
      await sleep(8 * turn)
      await thread.close()
    }
    console.log('all are closed')`
  const { stdout, stderr, status } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    encoding: 'utf8',
    timeout: 30_000,
  })
  assert.deepEqual({ stdout, stderr, status }, { stdout: 'all are closed\n', stderr: '', status: 0 })
})

test('After a sync that failed, no read is answered, even if the next sync succeeds', (context) => {
  const folder = folderFor(context)
  const program = join(folder, 'program.ts')
  const preload = join(folder, 'disk.mjs')
  // The system reports a failed sync once. The thread stays in it until the test has sent a probe.
  writeFileSync(
    preload,
    `
    import fs from 'node:fs'
    import { syncBuiltinESMExports } from 'node:module'
    const { existsSync, fdatasyncSync, renameSync } = fs
    fs.fdatasyncSync = (file) => {
      if (!existsSync('broken')) return fdatasyncSync(file)
      renameSync('broken', 'failing')
      while (existsSync('failing'));
      throw new Error('EIO: the disk is broken')
    }
    syncBuiltinESMExports()`,
  )
  writeFileSync(
    program,
    `
    import { existsSync, rmSync, writeFileSync } from 'node:fs'
    import { setImmediate as turn } from 'node:timers/promises'
    import { SqliteLedger } from ${fileOf('ledger-thread.ts')}
    import { openSqliteFile } from ${fileOf('open.ts')}
    import { addTallies } from ${fileOf('../operations/figures.ts')}
    openSqliteFile('purser.db')
    const thread = new SqliteLedger({ path: 'purser.db', maxBatch: 1, maxWaiting: 9 })
    await thread.probe()
    writeFileSync('broken', '')
    const use = { accountId: ${JSON.stringify(accountId)}, keyId: ${JSON.stringify(keyId)}, usedAtMs: 1 }
    const tallies = { refusals: [], keyUses: [use], writerId: 'a', id: 'b' }
    const calls = [thread.run(addTallies, tallies)]
    while (!existsSync('failing')) await turn()
    const read = thread.untilDurable()
    calls.push(thread.probe())
    await turn()
    rmSync('failing')
    const outcomes = await Promise.allSettled([...calls, read])
    console.log(outcomes.map(({ status }) => status).join())`,
  )
  const { stdout, stderr } = spawnSync(process.execPath, [`--import=${preload}`, program], {
    cwd: folder,
    encoding: 'utf8',
    timeout: 30_000,
  })
  assert.deepEqual({ stdout, stderr }, { stdout: 'rejected,rejected,rejected\n', stderr: '' })
})

test('A call beyond maxWaiting is rejected, and the waiting ones are answered in order', async (context) => {
  const path = join(folderFor(context), 'purser.db')
  const store = openAt(path)
  const thread = threadFor(path, 3)
  const outcomes = await Promise.allSettled([1, 2, 3, 4].map(() => thread.run(...readNothing)))
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'fulfilled', 'rejected'],
  )
  assert.equal((await thread.run(...readNothing)).presses, 0, 'rejected calls block no other call')
  await thread.close()
  await store.close()
})

test('Operations sent before the store closes are written before it has closed', async (context) => {
  const path = join(folderFor(context), 'purser.db')
  const store = openAt(path)
  const ledger = new StoreLedger({ store, close: () => store.close() })
  const owner = await ledger.tenant()
  const agents = Array.from({ length: 200 }, () => ledger.agent(owner.sandbox))
  const closed = store.close()
  const { length } = await Promise.all(agents)
  await closed
  await assert.rejects(ledger.agent(owner.sandbox), StoreUnavailableError)
  const again = openAt(path)
  const { items } = await again.listAgents(owner.sandbox, {}, { limit: 500 })
  assert.equal(items.length, length)
  await again.close()
})

test('A ledger that another process has written, because its lock file was deleted, writes nothing more', async (context) => {
  const path = join(folderFor(context), 'purser.db')
  const ended = Promise.withResolvers<unknown>()
  const first = openSqliteLedgerStore({ path, nextId: createIdsOfTimes(), onEnd: ended.resolve })
  const owner = await new StoreLedger({ store: first, close: () => first.close() }).tenant()
  rmSync(`${path}.lock`)
  const second = openAt(path)
  const ledger = new StoreLedger({ store: second, close: () => second.close() })
  await ledger.agent(owner.sandbox)
  const refused = new StoreLedger({ store: first, close: () => first.close() }).agent(owner.sandbox)
  await assert.rejects(refused, StoreUnavailableError)
  assert.match(
    String(await ended.promise),
    /another process has written .*purser\.db; was its \.lock file deleted/,
  )
  await ledger.agent(owner.sandbox)
  const { items } = await second.listAgents(owner.sandbox, {}, { limit: 10 })
  assert.equal(items.length, 2)
  await first.close()
  await second.close()
})

for (const [what, change] of [
  ['replaced', (path) => renameSync(copyOf(path), path)],
  ['moved', (path) => renameSync(path, `${path}.moved`)],
  ['removed with its folder', (path) => rmSync(dirname(path), { recursive: true })],
  ['left without its log', (path) => rmSync(`${path}-wal`)],
] as readonly (readonly [string, (path: string) => void])[]) {
  test(`A ledger whose file is ${what} while it is open writes nothing more, and says so`, async (context) => {
    const path = join(folderFor(context), 'purser.db')
    const ended = Promise.withResolvers<unknown>()
    const store = openSqliteLedgerStore({ path, nextId: createIdsOfTimes(), onEnd: ended.resolve })
    const ledger = new StoreLedger({ store, close: () => store.close() })
    const owner = await ledger.tenant()
    change(path)
    const name = what.startsWith('left') ? `${path}-wal` : path
    assert.equal(
      String(await ended.promise),
      `StoreUnavailableError: ${name} was moved, overwritten, replaced or removed while the service ran: put ${path} and its -wal file back, or restore a backup with purser restore`,
    )
    await assert.rejects(ledger.agent(owner.sandbox), StoreUnavailableError)
    await assert.rejects(store.checkReady(), StoreUnavailableError)
    await store.close()
  })
}

test('A preallocated log is empty, and what is written into it stays', async (context) => {
  const path = join(folderFor(context), 'purser.db')
  const first = openAt(path)
  await new StoreLedger({ store: first, close: () => first.close() }).tenant()
  await first.close()
  const store = openAt(path)
  extendLog(path)
  const { size } = statSync(`${path}-wal`)
  assert(size >= 16 * 1024 * 1024, `${size}`)
  extendLog(path)
  assert.equal(statSync(`${path}-wal`).size, size, 'a log that is long enough is not changed')
  const ledger = new StoreLedger({ store, close: () => store.close() })
  ledger.clock.nowMs += 1
  await ledger.tenant()
  assert.deepEqual(await store.findLedgerFaults(), [])
  await store.close()
})

const accountId = createIdsOfTimes()('account', 0)
const keyId = createIdsOfTimes()('apiKey', 0)

function threadFor(path: string, maxWaiting = 100): SqliteLedger {
  return new SqliteLedger({ path, maxBatch: 10, maxWaiting })
}

/** A file of the service, as a program imports it. */
function fileOf(name: string): string {
  return JSON.stringify(join(import.meta.dirname, name))
}

function copyOf(path: string): string {
  copyFileSync(path, `${path}.copy`)
  return `${path}.copy`
}

function openAt(path: string): Store {
  return openSqliteLedgerStore({ path, nextId: createIdsOfTimes() })
}

function folderFor(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'purser-test-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

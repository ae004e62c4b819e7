import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'

import { Client } from 'pg'

import { testCommand } from '../../packages/cli/testing/command.ts'
import { createIdsOfTimes } from '../src/ids.ts'
import { openPostgresLedgerStore } from '../src/store/ledger/postgres/postgres-ledger-store.ts'
import { findProgram } from '../src/backup/programs.ts'
import { postgres18, postgresServers } from '../testing/postgres.ts'
import { execute } from '../testing/postgres-databases.ts'
import { StoreLedger } from '../testing/store-ledger.ts'

const nextId = createIdsOfTimes()
const postgres15 = postgresServers.find(({ name }) => name === 'PostgreSQL 15')
const missing = postgres15?.missing ?? whyNoDump()

test(
  'No service starts on an unfinished restore, whatever schemas it looks in before that of the ledger',
  { skip: missing },
  async (context) => {
    const [from, to] = [await postgres15!.createEmptyDatabase(), await postgres15!.createEmptyDatabase()]
    context.after(() => Promise.all([from.drop(), to.drop()]))
    const { purserWith } = testCommand(context)
    const purser = (url: string, ...words: string[]) =>
      purserWith({ environment: { PURSER_DATABASE: url } }, ...words)
    const store = await openPostgresLedgerStore({ url: from.url, nextId })
    const ledger = new StoreLedger({ store, close: () => store.close() })
    await ledger.mandate((await ledger.tenant()).sandbox)
    await store.close()
    // An inconsistent ledger keeps its mark.
    await execute(from.url, 'update mandates set spent_micro = 1')
    assert.equal((await purser(from.url, 'backup', 'purser.dump')).code, 1)

    for (const [url, ...restore] of [
      [from.url, 'restore', '--recovered'],
      [to.url, 'restore', 'purser.dump'],
    ] as const) {
      // The schema of this role, where its tables are made; that of the services has none.
      await execute(url, 'create schema authorization current_user')
      assert.match((await purser(url, ...restore)).errors, /is inconsistent \(1 errors\)/)
      await assert.rejects(
        openPostgresLedgerStore({
          url: `${url}?options=${encodeURIComponent('-c search_path=public')}`,
          nextId,
        }),
        /contains an unfinished restore/,
      )
    }
  },
)

test(
  'A backup of an unfinished restore, which could not be restored, is refused',
  { skip: missing },
  async (context) => {
    const { url, drop } = await postgres15!.createEmptyDatabase()
    context.after(drop)
    const { folder, purserWith } = testCommand(context)
    const purser = (...words: string[]) => purserWith({ environment: { PURSER_DATABASE: url } }, ...words)
    assert.equal((await purser('migrate', 'up')).code, 0)
    await execute(url, 'create table purser_restore ()')
    const { code, output, errors } = await purser('backup', 'purser.dump')
    assert.deepEqual([code, output], [1, ''])
    assert.match(errors, /contains an unfinished restore; run the same purser restore again/)
    assert.deepEqual(readdirSync(folder), [])
  },
)

test('A service that starts just before a recovered ledger is marked stops the restore, and the mark is removed again', async (context) => {
  const { url, drop } = await postgres18.createEmptyDatabase()
  const { purserWith } = testCommand(context)
  const purser = (...words: string[]) => purserWith({ environment: { PURSER_DATABASE: url } }, ...words)
  assert.equal((await purser('migrate', 'up')).code, 0)
  const blocker = new Client({ connectionString: url })
  await blocker.connect()
  context.after(async () => {
    await blocker.end()
    await drop()
  })
  await blocker.query('begin; create table purser_restore ()')
  const restoring = purser('restore', '--recovered')
  const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  while ((await execute(url, waiting)).length === 0) await setImmediate()
  const store = await openPostgresLedgerStore({ url, nextId })
  await store.checkReady()
  await blocker.query('rollback')
  const { code, errors } = await restoring
  await store.close()
  assert.equal(code, 1)
  assert.match(errors, /A Purser service is using .*; stop every service first/)
  assert.deepEqual(await execute(url, `select to_regclass('purser_restore') as found`), [{ found: null }])
  assert.deepEqual(await execute(url, 'select from service_secrets'), [])
})

function whyNoDump(): string | undefined {
  try {
    findProgram('pg_dump', 15)
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

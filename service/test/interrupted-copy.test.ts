import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

import { Client } from 'pg'

import { postgres18 } from '../testing/postgres.ts'
import { StoreLedger } from '../testing/store-ledger.ts'
import { makeFolder, runProcess, spawnProcess, type ServiceProcess } from './process.ts'
import { createIdsOfTimes } from '../src/ids.ts'
import { openSqliteLedgerStore } from '../src/store/ledger/sqlite/sqlite-ledger-store.ts'

test('Ctrl-C during a copy says that the same command continues it, which it does', async (context) => {
  const { copying, letGo, copyAgain } = await startHeldCopy(context)
  const { code, stderr } = await copying.kill('SIGINT')
  assert.equal(code, 130)
  assert.equal(
    stderr,
    [
      '  accounts             1 of 1',
      '  identities           1 of 1',
      '  key_hashes           2 of 2',
      'Interrupted; run the same command again to continue.\n',
    ].join('\n'),
  )
  await letGo()
  await copyAgain()
})

test('A copy that loses its server names the remedy: the same command, once the server is back', async (context) => {
  const { copying, letGo, copyAgain, client } = await startHeldCopy(context)
  await client.query(`
    select pg_terminate_backend(pid) from pg_stat_activity
    where application_name = 'purser' and datname = current_database()`)
  const { code, stderr } = await copying.ended
  assert.equal(code, 1)
  assert.match(
    stderr,
    /^purser migrate copy: No PostgreSQL server answers at .*; start it, and run the same command again: it continues from here\.$/m,
  )
  await letGo()
  await copyAgain()
})

interface HeldCopy {
  readonly copying: ServiceProcess
  readonly client: Client
  /** Lets the next copy continue. */
  readonly letGo: () => Promise<unknown>
  /** Copies again, to the end. */
  readonly copyAgain: () => Promise<void>
}

/** A copy that waits in the middle because one of its target's tables is locked. */
async function startHeldCopy(context: TestContext): Promise<HeldCopy> {
  const folder = makeFolder(context)
  const store = openSqliteLedgerStore({ path: join(folder, 'purser.db'), nextId: createIdsOfTimes() })
  await new StoreLedger({ store, close: () => store.close() }).tenant()
  await store.close()
  const database = await postgres18.createDatabase()
  const client = new Client(database.url)
  // Its lock would keep the database from being emptied.
  context.after(() => client.end().then(database.drop))
  await client.connect()
  await client.query('begin; lock table api_keys in share mode')
  const flags = ['migrate', 'copy', '--from', 'sqlite:purser.db', '--to', database.url]
  const copying = spawnProcess(context, { folder, program: 'purser.ts', flags })
  await copying.sees(/^Copying /)
  while (!(await isWaiting(client))) await sleep(20)

  async function copyAgain(): Promise<void> {
    const { code, stdout } = await runProcess(context, { folder, program: 'purser.ts', flags })
    assert.equal(code, 0)
    assert.match(stdout, /^Copied\. /m)
  }

  return { copying, client, letGo: () => client.query('rollback'), copyAgain }
}

async function isWaiting(client: Client): Promise<boolean> {
  const { rows } = await client.query(
    `select from pg_locks join pg_database on pg_database.oid = database where datname = current_database() and not granted`,
  )
  return rows.length > 0
}

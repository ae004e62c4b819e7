import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test, type TestContext } from 'node:test'
import { setImmediate } from 'node:timers/promises'

import Database from 'better-sqlite3'
import { Client } from 'pg'

import { fillMixedLedger, type MixedLedger } from '../../testing/ledgers/mixed-ledger.ts'
import { postgresServers, type PostgresServer } from '../../testing/postgres.ts'
import { StoreLedger } from '../../testing/store-ledger.ts'
import { readWholeLedger } from '../../testing/ledgers/whole-ledger.ts'
import { copiedTables, leftOutTables } from './copied-tables.ts'
import { copyLedger, type CopyOptions, type CopyProgress } from './copy-ledger.ts'
import { createIdsOfTimes } from '../ids.ts'
import { openSqliteLedgerStore } from '../store/ledger/sqlite/sqlite-ledger-store.ts'
import { partsOf } from '../store/ledger/sqlite/schema.ts'
import { allTables } from '../store/ledger/tables.ts'
import { openPostgresLedgerStore } from '../store/ledger/postgres/postgres-ledger-store.ts'

const payments = 75
const batch = { rows: 10, bytes: 100_000 }

const folder = mkdtempSync(join(tmpdir(), 'purser-test-'))
const sourcePath = join(folder, 'purser.db')
let ledger: MixedLedger
let whole: Awaited<ReturnType<typeof readWholeLedger>>

before(async () => {
  const store = openSqliteLedgerStore({ path: sourcePath, nextId: createIdsOfTimes() })
  ledger = await fillMixedLedger(new StoreLedger({ store, close: () => store.close() }), payments)
  whole = await readWholeLedger(store, ledger)
  await store.close()
})
after(() => rmSync(folder, { recursive: true, force: true }))

for (const server of postgresServers) {
  describe(server.name, { skip: server.missing ?? false }, () => {
    test('A copied ledger answers everything like the original', async (context) => {
      const to = await databaseOn(server, context)
      const report = await copy({ to })
      assert.ok(report.isProven && !report.isContinued)
      // A stop runs only until it has paused every mandate.
      const isWrong = ({ name, agrees, rows }: (typeof report.tables)[number]) =>
        !agrees || (rows === 0n && name !== 'running_stops')
      assert.deepEqual(report.tables.filter(isWrong), [])
      assert.deepEqual(await readCopy(to), whole)
    })

    test('A killed copy can be continued, and no service starts on an incomplete copy', async (context) => {
      const to = await databaseOn(server, context)
      const reached = new Map<string, bigint>()
      for (const killedAfter of [5, 17]) {
        const killed = spawnSync(process.execPath, [
          killedCopy,
          JSON.stringify({ ...orderTo(to), killedAfter }),
        ])
        assert.equal(killed.signal, 'SIGKILL', String(killed.stderr))
        await assert.rejects(openPostgresLedgerStore({ url: to, nextId: createIdsOfTimes() }), {
          name: 'StoreOpenError',
          message: /contains an unfinished copy; run the same purser migrate copy again/,
        })
        for (const { name } of copiedTables) {
          const [row] = await query<{ count: bigint }>(to, `select count(*) as count from ${name}`)
          const rows = BigInt(row?.count ?? 0)
          assert.ok(rows >= (reached.get(name) ?? 0n), `${name} was not restarted`)
          reached.set(name, rows)
        }
      }
      const progress: CopyProgress[] = []
      const report = await copy({ to, onProgress: (one) => progress.push(one) })
      assert.ok(report.isProven && report.isContinued)
      const first = (table: string) => progress.find((one) => one.table === table)?.copied
      for (const [table, rows] of reached) assert.equal(first(table), rows)
      assert.deepEqual(await readCopy(to), whole)
    })
  })
}

const killedCopy = join(import.meta.dirname, '../../testing/ledgers/killed-copy.ts')
const oldClaim = join(import.meta.dirname, '../../testing/ledgers/old-claim.ts')
const server = postgresServers[0] ?? assert.fail('no PostgreSQL server')

test('The proof secret is copied with the ledger', async (context) => {
  const to = await databaseOn(server, context)
  const secret = 'ab'.repeat(32)
  assert.equal((await copy({ to, proofSecret: secret })).hasProofSecret, true)
  assert.deepEqual(await query(to, 'select secret from service_secrets'), [{ secret }])
  const other = await copy({ to, proofSecret: 'cd'.repeat(32) })
  assert.deepEqual([other.wasFinished, other.hasProofSecret], [true, false])
  assert.deepEqual(await query(to, 'select secret from service_secrets'), [{ secret }])
})

test('A finished copy without a proof secret gets it when the file has one', async (context) => {
  const to = await databaseOn(server, context)
  assert.equal((await copy({ to })).hasProofSecret, false)
  const secret = 'ab'.repeat(32)
  assert.equal((await copy({ to, proofSecret: secret })).hasProofSecret, true)
  assert.deepEqual(await query(to, 'select secret from service_secrets'), [{ secret }])
})

test('A ledger that a service is using is not copied', async (context) => {
  const store = openSqliteLedgerStore({ path: sourcePath, nextId: createIdsOfTimes() })
  context.after(() => store.close())
  const to = await databaseOn(server, context)
  await refused(copy({ to }), /^Another Purser process is using .*purser\.db/)
  assert.deepEqual(await query(to, `select to_regclass('accounts') as found`), [{ found: null }])
})

test('A missing ledger is not created', async (context) => {
  const to = await databaseOn(server, context)
  const from = join(folder, 'none.db')
  await refused(copy({ to, from }), /^There is no ledger at .*none\.db; correct --from/)
  await refused(copy({ to, from }), /^There is no ledger/)
})

test('A database with another ledger is left untouched', async (context) => {
  const to = await databaseOn(server, context)
  const store = await openPostgresLedgerStore({ url: to, nextId: createIdsOfTimes() })
  await new StoreLedger({ store, close: () => store.close() }).tenant()
  await store.close()
  // Test ids are the same in every ledger.
  await query(to, 'update accounts set id = gen_random_uuid()')
  await refused(copy({ to }), /contains another ledger, and was left untouched; copy to an empty database/)
  assert.equal((await query(to, 'select id from accounts')).length, 1)
  assert.deepEqual(await query(to, `select to_regclass('purser_copy') as found`), [{ found: null }])
  await refused(copy({ to }), /contains another ledger/)
})

test('A finished copy is recognized and not written again', async (context) => {
  const to = await databaseOn(server, context)
  const first = await copy({ to })
  const again = await copy({ to, onProgress: () => assert.fail('nothing is copied') })
  assert.deepEqual(again, { ...first, wasFinished: true })
  assert.deepEqual(await query(to, `select to_regclass('purser_copy') as found`), [{ found: null }])
  assert.deepEqual(await readCopy(to), whole)
})

test('A finished copy is left unchanged if something was written to it or to the source since', async (context) => {
  const from = join(folder, 'moved-on.db')
  copyFileSync(sourcePath, from)
  const [copied, unchanged] = [await databaseOn(server, context), await databaseOn(server, context)]
  await copy({ from, to: copied })
  await copy({ from, to: unchanged })
  const movedOn = /contains a finished copy of this ledger, and the copy or .*moved-on\.db/
  await query(copied, `update agents set status = 'revoked', revoked_at_ms = 1 where status = 'active'`)
  await refused(copy({ from, to: copied }), movedOn)
  assert.ok((await copy({ from, to: unchanged })).wasFinished)
  const file = new Database(from)
  file.exec(`update agents set status = 'revoked', revoked_at_ms = 1 where status = 'active'`)
  file.close()
  await refused(copy({ from, to: unchanged }), movedOn)
})

test('A copy is not continued from a changed or different source', async (context) => {
  const from = join(folder, 'changing.db')
  copyFileSync(sourcePath, from)
  const to = await databaseOn(server, context)
  await interrupt({ from, to })
  const store = openSqliteLedgerStore({ path: from, nextId: createIdsOfTimes() })
  const changing = new StoreLedger({ store, close: () => store.close() })
  changing.clock.nowMs += 1_000
  const mandate = await store.listMandates(ledger.scopes[0] ?? assert.fail(), {}, { limit: 1 })
  await changing.moveMandate(mandate.items[0] ?? assert.fail(), 'revoked')
  await store.close()
  await refused(copy({ from, to }), /unfinished copy of another ledger, or the source has changed since/)
})

test('No service starts on an incomplete copy, whatever schemas it looks in before that of the ledger', async (context) => {
  const to = await databaseOn(server, context)
  const store = await openPostgresLedgerStore({ url: to, nextId: createIdsOfTimes() })
  await store.close()
  // Now its role has a schema of its own, where its tables are made; that of the services has none.
  await query(to, 'create schema authorization current_user')
  await interrupt({ to })
  const url = `${to}?options=${encodeURIComponent('-c search_path=public')}`
  await assert.rejects(openPostgresLedgerStore({ url, nextId: createIdsOfTimes() }), {
    name: 'StoreOpenError',
    message: /contains an unfinished copy/,
  })
  assert.ok((await copy({ to })).isProven)
  assert.deepEqual(await readCopy(url), whole)
})

test('A service that had started on the empty database is not ready while a ledger is copied there', async (context) => {
  const to = await databaseOn(server, context)
  const store = await openPostgresLedgerStore({ url: to, nextId: createIdsOfTimes() })
  try {
    await store.checkReady()
    await interrupt({ to })
    await assert.rejects(store.checkReady(), /the database contains an unfinished copy/)
    assert.ok((await copy({ to })).isProven)
    await store.checkReady()
  } finally {
    await store.close()
  }
})

test('Two copies to one database never mix', async (context) => {
  const to = await databaseOn(server, context)
  const from = join(folder, 'same.db')
  copyFileSync(sourcePath, from)
  let second: Promise<unknown> | undefined
  const report = await copy({
    to,
    onProgress: () => {
      second ??= copy({ from, to }).then(
        // The first copy was faster.
        ({ wasFinished }) => assert(wasFinished),
        ({ message }: Error) => assert.match(message, /^Another copy to .* is running; let it finish/),
      )
    },
  })
  await second
  assert.ok(second && report.isProven)
})

test('A copy that begins while another one is finished is refused like one that runs', async (context) => {
  const to = await databaseOn(server, context)
  await interrupt({ to })
  const finishing = new Client({ connectionString: to })
  await finishing.connect()
  await finishing.query('begin; drop table purser_copy')
  const second = refused(copy({ to }), /^Another copy to .* is running; let it finish/)
  const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  while ((await query(to, waiting)).length === 0) await setImmediate()
  await finishing.query('commit')
  await finishing.end()
  await second
})

test('A short transaction_timeout of the database does not end the claim of a copy', async (context) => {
  const to = await databaseOn(server, context)
  await openPostgresLedgerStore({ url: to, nextId: createIdsOfTimes() }).then((store) => store.close())
  await query(to, `alter database ${new URL(to).pathname.slice(1)} set transaction_timeout = '2s'`)
  let hasWaited = false
  const report = await copy({
    to,
    onProgress: () => {
      if (!hasWaited) spawnSync(process.execPath, [oldClaim, to], { stdio: 'inherit' })
      hasWaited = true
    },
  })
  assert.ok(report.isProven)
})

const damages: readonly (readonly [what: string, statement: string, table: string])[] = [
  [
    'a lost row',
    `delete from audit_events where id = (select id from audit_events order by account_id, id limit 1)`,
    'audit_events',
  ],
  ['another sum', 'update mandates set spent_micro = spent_micro + 1 where spent_micro > 0', 'mandates'],
  ['a longer text', `update agents set name = name || '.' where status = 'active'`, 'agents'],
]
for (const [what, statement, table] of damages) {
  test(`The final comparison detects ${what}, and the copy stays unfinished`, async (context) => {
    const to = await databaseOn(server, context)
    await interrupt({ to, at: { table: 'audit_events', copied: 2n } })
    await query(to, statement)
    const report = await copy({ to })
    assert.ok(!report.isProven)
    assert.deepEqual(
      report.tables.filter(({ agrees }) => !agrees).map(({ name }) => name),
      [table],
    )
    await assert.rejects(openPostgresLedgerStore({ url: to, nextId: createIdsOfTimes() }), {
      name: 'StoreOpenError',
    })
  })
}

test('NUL, which PostgreSQL cannot store, becomes U+FFFD', async (context) => {
  const from = join(folder, 'nul.db')
  const source = openSqliteLedgerStore({ path: from, nextId: createIdsOfTimes() })
  const filled = new StoreLedger({ store: source, close: () => source.close() })
  const { sandbox } = await filled.tenant()
  const agent = await filled.agent(sandbox, { name: 'a\0b\0', capabilities: ['c\0'] })
  await source.close()
  const to = await databaseOn(server, context)
  assert.ok((await copy({ from, to })).isProven)
  const store = await openPostgresLedgerStore({ url: to, nextId: createIdsOfTimes() })
  context.after(() => store.close())
  assert.deepEqual(await store.findAgent(agent), { ...agent, name: 'a\uFFFDb\uFFFD' })
})

test('Every table of the ledger is copied or deliberately left out', () => {
  assert.deepEqual(new Set([...copiedTables, ...leftOutTables]), new Set(allTables))
  const database = new Database(sourcePath, { readonly: true })
  const tables = database
    .prepare<[], string>(`select name from sqlite_schema where type = 'table'`)
    .pluck()
    .all()
  database.close()
  // SQLite's derived tables are rebuilt there, and exist nowhere else.
  const kept = ['open_payments', 'entries_of_mandates', 'index_marks']
  const declared = allTables.flatMap((table) => partsOf(table).map(({ name }) => name))
  assert.deepEqual(new Set(tables), new Set([...declared, ...kept]))
})

function orderTo(to: string): CopyOptions {
  return { from: sourcePath, to, proofSecret: undefined, batch }
}

function copy(options: Partial<CopyOptions> & { readonly to: string }) {
  return copyLedger({ ...orderTo(options.to), ...options })
}

/** Starts a copy and makes it fail once a table has reached a given progress. */
async function interrupt({
  at = { table: 'payments', copied: 1n },
  ...options
}: {
  readonly to: string
  readonly from?: string
  readonly at?: { readonly table: string; readonly copied: bigint }
}): Promise<void> {
  const onProgress = ({ table, copied }: CopyProgress) => {
    if (table === at.table && copied >= at.copied) throw new Error('interrupted')
  }
  await assert.rejects(copy({ ...options, onProgress }), /interrupted/)
}

function refused(copying: Promise<unknown>, message: RegExp): Promise<void> {
  return assert.rejects(copying, { name: 'StoreOpenError', message })
}

async function databaseOn(where: PostgresServer, context: TestContext): Promise<string> {
  const database = await where.createEmptyDatabase()
  context.after(() => database.drop())
  return database.url
}

async function readCopy(url: string) {
  const store = await openPostgresLedgerStore({ url, nextId: createIdsOfTimes() })
  try {
    return await readWholeLedger(store, ledger)
  } finally {
    await store.close()
  }
}

async function query<Row>(url: string, statement: string): Promise<Row[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(statement)).rows as Row[]
  } finally {
    await client.end()
  }
}

import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

import { Client, type ClientBase } from 'pg'

import type { PostgresDatabase } from '../../../../testing/postgres-databases.ts'
import { postgres18, postgresServers, startPostgres18 } from '../../../../testing/postgres.ts'
import { StoreOpenError } from '../../open-error.ts'
import { describeUrl } from './address.ts'
import { withClient } from './connection.ts'
import { migrate, neededVersion, readSchemaVersion } from './migrate.ts'
import { ledgerSteps } from './schema.ts'
import { createIdsOfTimes } from '../../../ids.ts'
import { openPostgresLedgerStore } from './postgres-ledger-store.ts'

for (const { name, missing, createEmptyDatabase } of postgresServers) {
  test(
    `Many processes that start at once on an empty database of ${name} create one schema`,
    { skip: missing ?? false },
    async (context) => {
      const database = await createEmptyDatabase()
      context.after(() => database.drop())
      const stores = await Promise.all(
        Array.from({ length: 8 }, () =>
          openPostgresLedgerStore({ url: database.url, nextId: createIdsOfTimes() }),
        ),
      )
      for (const store of stores) {
        await store.checkReady()
        assert.equal(await store.isEmpty(), true)
        await store.close()
      }
      assert.equal(await withClient(database.url, readSchemaVersion), neededVersion)
      assert.equal(await withClient(database.url, migrate), neededVersion, 'no step is left')
    },
  )

  test(
    `If many processes start at once on an older schema on ${name}, one runs the missing step`,
    { skip: missing ?? false },
    async (context) => {
      const database = await createEmptyDatabase()
      const fresh = await createEmptyDatabase()
      const outsider = new Client({ connectionString: database.url })
      await outsider.connect()
      context.after(async () => {
        await outsider.end()
        await database.drop()
        await fresh.drop()
      })
      await withClient(database.url, migrate)
      await withClient(fresh.url, update)

      // Blocks the process that runs the steps until all the others wait too.
      const { rows: tables } = await outsider.query<{ names: string }>(
        `select string_agg(tablename, ', ') as names from pg_tables
           where schemaname = 'public' and tablename <> 'purser_schema'`,
      )
      await outsider.query(`begin; lock table ${tables[0]?.names}`)
      const opening = Array.from({ length: 8 }, () => withClient(database.url, update))
      const settled = Promise.allSettled(opening)
      const waits = await untilWaiting(outsider, 8)
      await outsider.query('commit')
      for (const outcome of await settled) {
        assert(outcome.status === 'fulfilled', outcome.status === 'rejected' ? String(outcome.reason) : '')
      }

      assert.deepEqual(
        waits.filter((lock) => lock === 'relation'),
        ['relation'],
        'the others wait before the first step',
      )
      assert.equal(await withClient(database.url, readSchemaVersion), neededVersion + 1)
      assert.deepEqual(await readSchema(database.url), await readSchema(fresh.url))
    },
  )
}

test('A database written by a newer release is refused at start and while a process runs', async (context) => {
  const database = await emptyDatabase(context)
  const store = await openPostgresLedgerStore({ url: database.url, nextId: createIdsOfTimes() })
  context.after(() => store.close())
  await execute(database.url, `update purser_schema set version = ${neededVersion + 1}`)
  await refused(
    database.url,
    `${describeUrl(database.url)} was written by a newer Purser (schema ${neededVersion + 1}, this release supports ${neededVersion}); start that release or a later one`,
  )
  await assert.rejects(store.checkReady(), { name: 'StoreUnavailableError' })
})

const foreignTables: readonly (readonly [what: string, statements: string, named: string])[] = [
  ['a table of the same name', 'create table holds (id int)', 'holds'],
  ['a table of another name', 'create table users (id int)', 'users'],
  ['a partitioned one', 'create table visits (day int) partition by range (day)', 'visits'],
  ['a view', 'create view today as select now()', 'today'],
  ['a materialized view', 'create materialized view figures as select 1', 'figures'],
  [
    'a foreign one',
    'create foreign data wrapper elsewhere; create server there foreign data wrapper elsewhere; create foreign table far (id int) server there',
    'far',
  ],
  [
    'many',
    'create table a (); create table b (); create table c (); create table d ()',
    'a, b, c and 1 more',
  ],
]
for (const [what, statements, named] of foreignTables) {
  test(`Tables of another program are left untouched, and none are added to them: ${what}`, async (context) => {
    const database = await emptyDatabase(context)
    await execute(database.url, statements)
    const before = await relations(database.url)
    await refused(
      database.url,
      `${describeUrl(database.url)} contains tables of another program (${named}), and was left untouched; use a separate database for Purser`,
    )
    assert.deepEqual(await relations(database.url), before)
  })
}

test('A schema step that fails on PostgreSQL is named with its cause, and changes nothing', async (context) => {
  const database = await postgres18.createDatabase()
  context.after(() => database.drop())
  const failing = [...ledgerSteps, 'create table later (); alter table agents add column name text']
  await assert.rejects(
    withClient(database.url, (client, place) => migrate(client, place, failing)),
    {
      name: 'StoreOpenError',
      message: new RegExp(
        `^Step ${neededVersion + 1} of the schema failed on .* \\(.+ already exists\\), and nothing was`,
      ),
    },
  )
  assert.equal(await withClient(database.url, readSchemaVersion), neededVersion)
  const later = await withClient(database.url, (client) => client.query("select to_regclass('later') as oid"))
  assert.deepEqual(later.rows, [{ oid: null }])
})

test("Tables of an extension or in another schema do not count as another program's tables", async (context) => {
  const database = await emptyDatabase(context)
  await execute(database.url, 'create table counted (id int); alter extension plpgsql add table counted')
  await execute(database.url, 'create schema apart; create table apart.users (id int)')
  const store = await openPostgresLedgerStore({ url: database.url, nextId: createIdsOfTimes() })
  await store.close()
})

test('A ledger in a schema that search_path does not name is found, instead of starting an empty one', async (context) => {
  const database = await emptyDatabase(context)
  await (await openPostgresLedgerStore({ url: database.url, nextId: createIdsOfTimes() })).close()
  await execute(database.url, 'alter schema public rename to app; create schema public')
  const before = await relations(database.url)
  await refused(
    database.url,
    `${describeUrl(database.url)} contains a ledger in the schema app, which search_path does not name; set search_path to app with alter role or alter database, or use a separate database for another ledger`,
  )
  assert.deepEqual(await relations(database.url), before)
})

test("A database that already has Purser's tables keeps working when others add tables", async (context) => {
  const database = await emptyDatabase(context)
  await (await openPostgresLedgerStore({ url: database.url, nextId: createIdsOfTimes() })).close()
  await execute(database.url, 'create table users (id int)')
  const store = await openPostgresLedgerStore({ url: database.url, nextId: createIdsOfTimes() })
  await store.checkReady()
  await store.close()
})

test('A wrong address is explained in one sentence, without its password', async (context) => {
  const database = await emptyDatabase(context)
  const changed = (change: (url: URL) => void) => {
    const url = new URL(database.url)
    change(url)
    return url.href
  }
  const nobody = changed((url) => (url.username = 'nobody'))
  const noRights = `${new URL(database.url).pathname.slice(1)}_reader`
  await execute(database.url, `create role ${noRights} login password 'hush'`)
  context.after(() => execute(maintenance(database.url), `drop role ${noRights}`))
  const reader = changed((url) => {
    url.username = noRights
    url.password = 'hush'
  })
  const cases: readonly (readonly [url: string, message: RegExp])[] = [
    [
      changed((url) => (url.port = '1')),
      /^No PostgreSQL server answers at .* \(ECONNREFUSED\); start it, or correct PURSER_DATABASE$/,
    ],
    [
      changed((url) => (url.password = 'hush')),
      / refuses this user or password; correct PURSER_DATABASE, or what the server allows in pg_hba\.conf$/,
    ],
    [nobody, / refuses this user or password; /],
    [
      `${database.url}?sslmode=require`,
      / does not offer TLS, which sslmode in the address requires; enable it on the server, or remove sslmode from the address$/,
    ],
    [
      changed((url) => (url.pathname = '/missing')),
      /\/missing does not exist; create the database first, with createdb$/,
    ],
    [
      reader,
      / does not let this user create tables \(permission denied for schema public\); grant it CREATE on the schema, or make it the owner of the database$/,
    ],
    [
      `${database.url}?options=-c%20default_transaction_read_only%3Don`,
      / is read-only, like a standby; set PURSER_DATABASE to the primary server, or turn off default_transaction_read_only$/,
    ],
    [
      `${database.url}?sslmode=verify-full&sslrootcert=/missing/root.crt`,
      / cannot be connected to \(ENOENT: no such file or directory, open '\/missing\/root\.crt'\); correct PURSER_DATABASE$/,
    ],
    [
      `${database.url}?options=-c%20missing%3D1`,
      / cannot be connected to \(unrecognized configuration parameter "missing"\); correct PURSER_DATABASE$/,
    ],
  ]
  for (const [url, message] of cases) {
    await assert.rejects(
      openPostgresLedgerStore({ url: url, nextId: createIdsOfTimes() }),
      (error: unknown) => {
        assert(error instanceof StoreOpenError, String(error))
        assert.match(error.message, message)
        assert(!error.message.includes(new URL(database.url).password) && !error.message.includes('hush'))
        return true
      },
    )
  }
})

test('A server that asks for a password is distinguished from one that does not answer', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'purser-test-'))
  context.after(() => rmSync(folder, { recursive: true }))
  const rules = join(folder, 'pg_hba.conf')
  writeFileSync(rules, 'host all all 127.0.0.1/32 scram-sha-256')
  for (const path of [folder, rules]) chmodSync(path, 0o755)
  const url = new URL(await startPostgres18({ settings: { hba_file: rules } }))
  url.password = ''
  const message = `${describeUrl(url.href)} asks for a password; add it to the address, as in postgresql://user:password@host:5432/name, or set PGPASSWORD`
  await refused(url.href, message)
})

test("A socket address in libpq's usual form works, and is shown with its user", async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'purser-test-'))
  context.after(() => rmSync(folder, { recursive: true }))
  chmodSync(folder, 0o777)
  const server = new URL(await startPostgres18({ settings: { unix_socket_directories: folder } }))
  const { username, password, port } = server
  const socket = `@/postgres?host=${folder}&port=${port}`
  const store = await openPostgresLedgerStore({
    url: `postgresql://${username}:${password}${socket}`,
    nextId: createIdsOfTimes(),
  })
  await store.checkReady()
  await store.close()
  const nobodys = `postgresql://nobody${socket}`
  await refused(
    nobodys,
    `${nobodys} refuses this user or password; correct PURSER_DATABASE, or what the server allows in pg_hba.conf`,
  )
})

test('A database that cannot store every text is refused', async (context) => {
  const database = await emptyDatabase(context)
  const latin = `${new URL(database.url).pathname.slice(1)}_latin`
  await execute(database.url, `create database ${latin} encoding 'LATIN1' template template0`)
  context.after(() => execute(maintenance(database.url), `drop database ${latin} with (force)`))
  const url = database.url.replace(/[^/]+$/, latin)
  await refused(
    url,
    `${describeUrl(url)} stores text as LATIN1, which cannot represent every name; create a database with the encoding UTF8`,
  )
})

/** Upgrades a database to the schema of a release that has one more step. */
function update(client: ClientBase, place: string): Promise<number> {
  return migrate(client, place, [...ledgerSteps, 'alter table agents add column note text'])
}

/**
 * Resolves to the kind of lock that this many others wait for, once they all wait: `relation` is a table or
 * an index, the rest are rows.
 */
async function untilWaiting(client: Client, count: number): Promise<string[]> {
  for (const untilMs = performance.now() + 20_000; performance.now() < untilMs; await sleep(5)) {
    // Within one transaction the view of other sessions would not be refreshed.
    await client.query('select pg_stat_clear_snapshot()')
    const { rows } = await client.query<{ locktype: string }>(`
      select locktype from pg_locks where not granted and pid in
        (select pid from pg_stat_activity where datname = current_database())`)
    if (rows.length >= count) return rows.map(({ locktype }) => locktype)
  }
  return assert.fail(`${count} processes never waited`)
}

/** Every table, index and view, with its columns and settings. */
async function readSchema(url: string): Promise<unknown[]> {
  return withClient(url, async (client) => {
    const { rows } = await client.query<Record<string, unknown>>(`
      select c.relname, c.relkind, c.reloptions, pg_get_viewdef(case c.relkind when 'v' then c.oid end) as view,
        pg_get_indexdef(case c.relkind when 'i' then c.oid end) as index,
        (select json_agg(json_build_array(a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
            a.attcollation::regcollation) order by a.attnum)
         from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) as columns,
        (select json_agg(pg_get_constraintdef(k.oid) order by k.conname) from pg_constraint k
         where k.conrelid = c.oid) as constraints
      from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'i', 'v')
      order by c.relname`)
    return rows
  })
}

async function refused(url: string, message: string): Promise<void> {
  await assert.rejects(openPostgresLedgerStore({ url: url, nextId: createIdsOfTimes() }), {
    name: 'StoreOpenError',
    message,
  })
}

/** The names of everything in the schema where tables are created. */
async function relations(url: string): Promise<unknown[]> {
  const { rows } = await withClient(url, (client) =>
    client.query("select relname from pg_class where relnamespace = 'public'::regnamespace order by relname"),
  )
  return rows
}

async function emptyDatabase(context: TestContext): Promise<PostgresDatabase> {
  const database = await postgres18.createEmptyDatabase()
  context.after(() => database.drop())
  return database
}

/** The server's own database, which outlives those of the tests. */
function maintenance(url: string): string {
  return new URL('/postgres', url).href
}

async function execute(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}

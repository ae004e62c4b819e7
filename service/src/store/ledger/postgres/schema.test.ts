import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'

import Database from 'better-sqlite3'
import { Client } from 'pg'

import { postgres18 } from '../../../../testing/postgres.ts'
import { createIdsOfTimes } from '../../../ids.ts'
import { ledgerSteps as sqliteSteps } from '../sqlite/schema.ts'
import { allTables } from '../tables.ts'
import { tenantTables } from './distribution.ts'
import { uuidOf } from './postgres-reader.ts'

test('account_id leads every key and index of tenant data', async (context) => {
  const client = await connect(context)
  const { rows } = await client.query<{ table: string; index: string; first: string | null }>(`
    select t.relname as table, i.relname as index,
      (select a.attname from pg_attribute a where a.attrelid = t.oid and a.attnum = x.indkey[0]) as first
    from pg_index x join pg_class i on i.oid = x.indexrelid join pg_class t on t.oid = x.indrelid
      join pg_namespace n on n.oid = t.relnamespace
    where n.nspname = 'public'`)
  assert.deepEqual(
    [...new Set(rows.map(({ table }) => table))].toSorted(),
    [...allTables.map(({ name }) => name), 'purser_schema', 'service_secrets'].toSorted(),
    'every table is declared, except two that only PostgreSQL has',
  )
  const tenantIndexes = rows.filter(({ table }) => tenantTables.some((name) => name === table))
  assert.ok(tenantIndexes.length > 15, 'the query finds the indexes')
  assert.deepEqual(
    tenantIndexes.filter(({ first }) => first !== 'account_id'),
    [],
  )
})

test("Text in keys and indexes is compared byte by byte, whatever the database's locale", async (context) => {
  const client = await connect(context)
  const { rows } = await client.query(`
    select c.relname, a.attname from pg_index x
      join pg_class c on c.oid = x.indrelid join pg_namespace n on n.oid = c.relnamespace
      join pg_attribute a on a.attrelid = c.oid and a.attnum = any (x.indkey)
      join pg_collation l on l.oid = a.attcollation
    where n.nspname = 'public' and l.collname <> 'C'`)
  assert.deepEqual(rows, [])
})

const absent: readonly (readonly [what: string, query: string])[] = [
  ['triggers', 'select tgname from pg_trigger where not tgisinternal'],
  ['sequences', "select relname from pg_class where relkind = 'S'"],
  ['foreign keys', "select conname from pg_constraint where contype = 'f'"],
  [
    'functions',
    `select proname from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname = 'public'`,
  ],
]
for (const [what, query] of absent) {
  test(`The schema has no ${what}`, async (context) => {
    const client = await connect(context)
    assert.deepEqual((await client.query(query)).rows, [])
  })
}

test('The database itself refuses an overspend and negative sums', async (context) => {
  const client = await connect(context)
  const nextId = createIdsOfTimes()
  const ids = [
    uuidOf('account', nextId('account', 0)),
    uuidOf('mandate', nextId('mandate', 0)),
    uuidOf('agent', nextId('agent', 0)),
  ]
  await client.query(
    `insert into mandates (account_id, id, agent_id, environment, purpose, max_total_text, max_total_micro,
      max_per_transaction_text, max_per_transaction_micro, currency, allowed_sellers, allowed_categories,
      expires_at_text, expires_at_ms, status, stopped_payments, epoch, spent_micro, held_micro, open_payments,
      version, authorized_micro, authorized_payments, max_capture_seconds,
      released_until_ms, denials_from_ms, denials, created_at_ms, updated_at_ms)
    values ($1, $2, $3, 'sandbox', '', '1', 10, '1', 10, 'USDC', '[]', '[]', '', 0, 'active', 0, 0, 4, 4, 1, 1, 2, 1, 600, 0, 0, 0, 0, 0)`,
    ids,
  )
  for (const sum of ['spent_micro', 'held_micro', 'authorized_micro']) {
    for (const change of [`${sum} = ${sum} + 1`, `${sum} = -1`])
      await assert.rejects(client.query(`update mandates set ${change}`), { code: '23514' })
  }
})

test('The tables and columns match those of SQLite, except those that only a file or only a server needs', async (context) => {
  const client = await connect(context)
  const { rows } = await client.query<{ column: string }>(`
    select table_name || '.' || column_name as column from information_schema.columns
    where table_schema = 'public'`)
  const sqlite = new Database(':memory:')
  context.after(() => sqlite.close())
  for (const step of sqliteSteps) sqlite.exec(step)
  const columns = sqlite
    .prepare<[], string>(
      `select t.name || '.' || c.name from sqlite_schema t join pragma_table_info(t.name) c where t.type in ('table', 'view')`,
    )
    .pluck()
    .all()
  const own =
    /^(purser_schema|service_secrets|open_payments|entries_of_mandates|entries_by_mandate|payments_by_expiry|waiting_payments|index_marks|mandates_sums)\.|\.(no|blank)$/
  const ofSqlite = new Set(columns.map((column) => column.replace(/^whole_/, '')))
  assert.deepEqual(
    rows
      .map(({ column }) => column)
      .filter((column) => !own.test(column))
      .toSorted(),
    [...ofSqlite].filter((column) => !own.test(column)).toSorted(),
  )
})

test('No statement leaves state on a connection that a pooler may share', () => {
  const sources = readdirSync(import.meta.dirname).filter((name) => !name.endsWith('.test.ts'))
  for (const name of sources) {
    const text = readFileSync(join(import.meta.dirname, name), 'utf8')
    const stateful =
      /\b(listen|notify|pg_(try_)?advisory\w*|set session|set (?!local\b)\w+ = o(n|ff)|set_config\([^)]*, false\)|temp(orary)? table|declare \w+ cursor)\b/i
    assert.doesNotMatch(text, stateful, name)
  }
})

async function connect(context: TestContext): Promise<Client> {
  const database = await postgres18.createDatabase()
  const client = new Client({ connectionString: database.url })
  await client.connect()
  context.after(async () => {
    await client.end()
    await database.drop()
  })
  return client
}

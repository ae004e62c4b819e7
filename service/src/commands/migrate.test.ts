import assert from 'node:assert/strict'
import { existsSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'

import Database from 'better-sqlite3'
import { Client } from 'pg'

import { testCommand } from '../../../packages/cli/testing/command.ts'
import { postgres18 } from '../../testing/postgres.ts'
import { StoreLedger } from '../../testing/store-ledger.ts'
import { neededVersion } from '../store/ledger/postgres/migrate.ts'
import { neededVersion as neededSqliteVersion } from '../store/ledger/sqlite/schema-version.ts'
import { createIdsOfTimes } from '../ids.ts'
import { openSqliteLedgerStore } from '../store/ledger/sqlite/sqlite-ledger-store.ts'

const guide = readFileSync(new URL('../../../docs/guides/migrate.md', import.meta.url), 'utf8')

const wrongCalls: readonly (readonly [words: string, error: RegExp])[] = [
  ['migrate', /^Usage: purser migrate <command>/],
  ['migrate down', /^purser has no command "migrate down"\.\n/],
  ['serve --wings 2', /Unknown option '--wings'/],
  ['serve --port http', /PURSER_PORT must be a whole number/],
  ['migrate status now', /^Unexpected argument "now"\. Use: purser migrate status\n/],
  ['migrate up --database mysql://host/db', /^PURSER_DATABASE must be sqlite: and a file's path/],
  ['migrate copy', /^--from and --to are missing\n\npurser migrate copy --help shows its usage\.$/],
  ['migrate copy --from sqlite:a.db', /^--to is missing\n/],
  [
    'migrate copy --from /a.db --to sqlite:b.db',
    /^--from must be sqlite: and a file's path, such as sqlite:\.\/data\/purser\.db, not "\/a\.db"\n/,
  ],
  [
    'migrate copy --from sqlite:a.db --to me@host/name',
    /^--to must be the address of a PostgreSQL database, such as postgresql:\/\/user@host\/name\n/,
  ],
  [
    'migrate copy --from sqlite:a.db --to postgresql://host',
    /^--to names a server but no database; add its name/,
  ],
]
for (const [words, error] of wrongCalls) {
  test(`Wrong usage is reported on standard error, with exit code 2: purser ${words}`, async (context) => {
    const { code, output, errors } = await inFolder(context)(...words.split(' ').filter(Boolean))
    assert.deepEqual([code, output], [2, ''])
    assert.match(errors, error)
  })
}

test('A failure is reported in one sentence, with exit code 1', async (context) => {
  const purser = inFolder(context)
  const { code, errors } = await purser('migrate', 'copy', '--from', 'sqlite:a.db', '--to', 'sqlite:b.db')
  assert.equal(code, 1)
  assert.match(errors, /^purser migrate copy: Copying from sqlite to sqlite is not supported; .*\.$/)
})

test('migrate status shows the schema version of a SQLite file, and changes nothing', async (context) => {
  const { folder, purser } = testCommand(context)
  const path = join(folder, 'purser.db')
  const status = () => purser('migrate', 'status', '--database', 'sqlite:purser.db')

  writeFileSync(path, '')
  const needed = `this release needs version ${neededSqliteVersion}`
  const numbers = Array.from({ length: neededSqliteVersion }, (_, index) => index + 1)
  const steps = `${numbers.length === 1 ? 'step' : 'steps'} ${numbers.join(', ')}`
  assert.deepEqual(await status(), {
    code: 0,
    errors: '',
    output: `Ledger   ${path}\nSchema   none yet; ${needed}\nTo do    purser migrate up, or the next start, runs ${steps}`,
  })
  assert.deepEqual(readdirSync(folder), ['purser.db'])

  await openSqliteLedgerStore({ path, nextId: createIdsOfTimes() }).close()
  const before = [readdirSync(folder), statSync(path).mtimeMs]
  assert.match(
    (await status()).output,
    new RegExp(`^Schema   version ${neededSqliteVersion}; ${needed}\nTo do    nothing$`, 'm'),
  )
  assert.deepEqual([readdirSync(folder), statSync(path).mtimeMs], before)

  const service = openSqliteLedgerStore({ path, nextId: createIdsOfTimes() })
  assert.match((await status()).output, /^To do {4}nothing$/m, 'while a service uses it, too')
  await service.close()
})

test('migrate status reports a missing file, with exit code 1', async (context) => {
  const { folder, purser } = testCommand(context)
  const { code, output, errors } = await purser('migrate', 'status', '--database', 'sqlite:there/nope.db')
  assert.deepEqual([code, output], [1, ''])
  const path = join(folder, 'there/nope.db')
  assert.equal(
    errors,
    `purser migrate status: There is no ledger at ${path}; correct the path in PURSER_DATABASE or --database, or create an empty one with purser migrate up.`,
  )
  assert.deepEqual(readdirSync(folder), [])
})

test('migrate status reports a newer, a foreign and a damaged file, with exit code 1', async (context) => {
  const { folder, purser } = testCommand(context)
  const status = () => purser('migrate', 'status', '--database', 'sqlite:purser.db')
  const path = join(folder, 'purser.db')
  await openSqliteLedgerStore({ path, nextId: createIdsOfTimes() }).close()
  change(path, 'pragma user_version = 99')
  const newer = await status()
  assert.equal(newer.code, 1)
  assert.match(newer.output, /^To do {4}a newer Purser has written this ledger: start that release/m)
  change(path, 'pragma application_id = 7')
  assert.match((await status()).errors, /is a database of another program, and was left untouched/)
  writeFileSync(path, 'not a database')
  assert.match((await status()).errors, /is a database of another program|is damaged/)
})

test('migrate up creates the schema once', async (context) => {
  const { folder, purser } = testCommand(context)
  const up = () => purser('migrate', 'up')
  assert.match(
    (await up()).output,
    new RegExp(`^Created an empty ledger at .*data/purser\\.db, with schema ${neededSqliteVersion}\\.$`),
  )
  assert.ok(existsSync(join(folder, 'data/purser.db')))
  assert.match(
    (await up()).output,
    new RegExp(`already has schema ${neededSqliteVersion}; nothing was done\\.$`),
  )
  const service = openSqliteLedgerStore({ path: join(folder, 'data/purser.db'), nextId: createIdsOfTimes() })
  const { code, errors } = await up()
  await service.close()
  assert.equal(code, 1)
  assert.match(errors, /^purser migrate up: Another Purser process is using/)
})

test('migrate status and up do the same on PostgreSQL, in any number of concurrent processes', async (context) => {
  const database = await postgres18.createEmptyDatabase()
  context.after(() => database.drop())
  const { purser, purserWith } = testCommand(context, { PURSER_DATABASE: database.url })
  const status = () => purserWith({ calledAs: 'npx purser' }, 'migrate', 'status')
  const needed = `this release needs version ${neededVersion}`
  const before = (await status()).output
  assert.match(before, new RegExp(`^Schema   none yet; ${needed}$`, 'm'))
  // The guide shows these lines.
  for (const line of before.trim().split('\n').slice(1)) assert.ok(guide.includes(`   ${line}\n`), line)
  assert.deepEqual(await tables(database.url), [])
  const ups = await Promise.all(Array.from({ length: 4 }, () => purser('migrate', 'up')))
  for (const { code, errors } of ups) assert.deepEqual([code, errors], [0, ''])
  const { output, code } = await status()
  assert.equal(code, 0)
  assert.match(output, new RegExp(`^Schema   version ${neededVersion}; ${needed}\nTo do    nothing$`, 'm'))
  assert.doesNotMatch(output, new RegExp(new URL(database.url).password))
})

test("migrate and migrate status refuse another program's database", async (context) => {
  const database = await postgres18.createEmptyDatabase()
  context.after(() => database.drop())
  await execute(database.url, 'create table users (id int)')
  const { folder, purser } = testCommand(context, { PURSER_DATABASE: database.url })
  await openSqliteLedgerStore({ path: join(folder, 'purser.db'), nextId: createIdsOfTimes() }).close()
  const calls = ['status', 'up', `copy --from sqlite:purser.db --to ${database.url}`]
  for (const call of calls) {
    const { code, output, errors } = await purser('migrate', ...call.split(' '))
    assert.equal(code, 1)
    assert.doesNotMatch(output, /To do/)
    assert.match(errors, /^purser migrate \w+: .* contains tables of another program \(users\), and was left/)
  }
  assert.equal((await tables(database.url)).length, 1)
})

test('migrate up reports an incomplete copy like migrate status, and does nothing', async (context) => {
  const database = await postgres18.createEmptyDatabase()
  context.after(() => database.drop())
  const purser = inFolder(context, { PURSER_DATABASE: database.url })
  await purser('migrate', 'up')
  await execute(database.url, 'create table purser_copy (source text not null)')
  await execute(database.url, 'update purser_schema set version = 0')
  const advice = 'the ledger is a copy that was interrupted: run the same purser migrate copy again'
  const status = await purser('migrate', 'status')
  assert.equal(status.code, 1)
  assert.match(status.output, new RegExp(`^To do {4}${advice}$`, 'm'))
  for (const flags of [[], ['--distribute']]) {
    const { code, output, errors } = await purser('migrate', 'up', ...flags)
    assert.deepEqual([code, output, errors], [1, '', `purser migrate up: ${advice}.`])
  }
  assert.deepEqual(await execute(database.url, 'select version from purser_schema'), [{ version: 0 }])
})

test('migrate up --distribute reports a missing Citus after creating the schema', async (context) => {
  const database = await postgres18.createEmptyDatabase()
  context.after(() => database.drop())
  const purser = inFolder(context, { PURSER_DATABASE: database.url })
  const { code, output, errors } = await purser('migrate', 'up', '--distribute')
  assert.equal(code, 1)
  assert.match(output, /^Created an empty ledger at .*, with schema \d+\.$/)
  assert.match(errors, /^purser migrate up: The server of postgresql:.* does not have Citus installed/)
  const onFile = await inFolder(context)('migrate', 'up', '--distribute')
  assert.equal(onFile.code, 2)
  assert.match(onFile.errors, /^--distribute is for PostgreSQL with Citus/)
})

test('migrate copy shows its progress, the verification, and the next step', async (context) => {
  const { folder, purser } = testCommand(context)
  const database = await postgres18.createEmptyDatabase()
  context.after(() => database.drop())
  await openSqliteLedgerStore({ path: join(folder, 'purser.db'), nextId: createIdsOfTimes() }).close()
  const call = ['migrate', 'copy', '--from', 'sqlite:purser.db', '--to', database.url]
  const { code, output, errors } = await purser(...call)
  assert.deepEqual([code, errors], [0, ''])
  assert.match(output, /^Copying .*purser\.db to postgresql:/)
  assert.match(output, /^ {2}payments +0 rows {2}agrees$/m)
  assert.match(output, /^ {2}The ledger is sound/m)
  assert.match(output, /^Copied\. Start the service with PURSER_DATABASE=postgresql:/m)
  assert.doesNotMatch(output, new RegExp(new URL(database.url).password))
})

test('migrate copy recognizes a finished copy and does nothing', async (context) => {
  const { folder, purser } = testCommand(context)
  const database = await postgres18.createEmptyDatabase()
  context.after(() => database.drop())
  await makeLedger(join(folder, 'purser.db'))
  const call = ['migrate', 'copy', '--from', 'sqlite:purser.db', '--to', database.url]
  assert.equal((await purser(...call)).code, 0)
  const { code, output, errors } = await purser(...call)
  assert.deepEqual([code, errors], [0, ''])
  assert.match(output, /postgresql:.* already contains a finished copy of this ledger; nothing to do\.$/m)
  assert.match(output, /^Start the service with PURSER_DATABASE=postgresql:/m)
  assert.equal(JSON.parse((await purser(...call, '--json')).output).was_finished, true)
  await execute(database.url, `update accounts set name = 'Another'`)
  const movedOn = await purser(...call)
  assert.equal(movedOn.code, 1)
  assert.match(movedOn.errors, /^purser migrate copy: .* and the copy or .* has changed/)
})

const nobody = 'postgresql://purser@127.0.0.1:1/purser'
const refusedCopies: readonly (readonly [what: string, from: string, to: string, error: RegExp])[] = [
  ['a wrong path', 'none.db', nobody, /There is no ledger at .*none\.db; correct --from\.$/],
  ['a foreign file', 'text.db', nobody, /name another file with --from sqlite:\/path\/purser\.db\.$/],
  ['an unreachable server', 'purser.db', nobody, /No PostgreSQL .*; start it, or correct --to\.$/],
]
for (const [what, from, to, error] of refusedCopies) {
  test(`migrate copy does not report progress if it is refused: ${what}`, async (context) => {
    const { folder, purser } = testCommand(context)
    await makeLedger(join(folder, 'purser.db'))
    writeFileSync(join(folder, 'text.db'), 'no ledger')
    const { code, output, errors } = await purser('migrate', 'copy', '--from', `sqlite:${from}`, '--to', to)
    assert.deepEqual([code, output], [1, ''])
    assert.match(errors, error)
  })
}

/** A ledger with an account and its keys. */
async function makeLedger(path: string): Promise<void> {
  const store = openSqliteLedgerStore({ path, nextId: createIdsOfTimes() })
  await new StoreLedger({ store, close: () => store.close() }).tenant()
  await store.close()
}

function change(path: string, pragma: string): void {
  const database = new Database(path)
  database.exec(pragma)
  database.close()
}

function tables(url: string): Promise<unknown[]> {
  return execute(url, `select 1 from pg_tables where schemaname = 'public'`)
}

async function execute(url: string, statement: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query(statement)
  await client.end()
  return rows
}

function inFolder(context: TestContext, environment: Record<string, string> = {}) {
  return testCommand(context, environment).purser
}

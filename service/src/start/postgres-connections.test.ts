import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'

import { pgBouncerMissing, startPgBouncer } from '../../testing/pgbouncer.ts'
import { execute } from '../../testing/postgres-databases.ts'
import { postgres18, postgresServers, type PostgresServer } from '../../testing/postgres.ts'
import { makeFolder, runProcess } from '../../test/process.ts'
import { withClient } from '../store/ledger/postgres/connection.ts'
import { checkConnections } from './postgres-connections.ts'

const alone = { processes: 1 }

for (const server of postgresServers) {
  describe(server.name, { skip: server.missing ?? false }, () => {
    test('has the connections and the statements that the service needs', async (context) => {
      const { url } = await databaseOf(context, server)
      assert.deepEqual(await checkConnections(url, { processes: 4 }), [])
    })
  })
}

for (const [setting, problem] of [
  [
    'synchronous_commit = off',
    'confirms commits before they are on disk (synchronous_commit is off), so its crash would lose answered payments; set it to on with alter role or alter database',
  ],
  [
    'search_path = missing',
    'has no schema for the tables that this user may use (search_path is missing); create a schema that it names, grant this user usage and create on it, or set it to public with alter role or alter database',
  ],
] as const) {
  test(`A database with ${setting} is refused, and the message says what to set`, async (context) => {
    const { url } = await databaseOf(context, postgres18)
    await execute(url, `alter database ${new URL(url).pathname.slice(1)} set ${setting}`)
    await assert.rejects(checkConnections(url, alone), (error: Error) => {
      assert.equal(error.name, 'StoreOpenError')
      assert.ok(error.message.endsWith(` ${problem}`), error.message)
      return true
    })
  })
}

test('A statement that the database ends is an error that says what to set', async (context) => {
  const { url } = await databaseOf(context, postgres18)
  await execute(url, `alter database ${new URL(url).pathname.slice(1)} set statement_timeout = '50ms'`)
  await assert.rejects(
    withClient(url, (client) => client.query('select pg_sleep(20)')),
    {
      name: 'StoreOpenError',
      message:
        /ended a statement \(canceling statement due to statement timeout\); set statement_timeout to 0 with alter role or alter database: Purser limits its own statements$/,
    },
  )
})

describe('PgBouncer before 1.21', { skip: pgBouncerMissing ?? false }, () => {
  const server = postgres18

  test('in transaction mode forgets prepared statements, and is refused', async (context) => {
    const { url } = await databaseOf(context, server)
    const pooled = await startPgBouncer(context, url, { pool_mode: 'transaction' })
    await assert.rejects(checkConnections(pooled, alone), {
      name: 'StoreOpenError',
      message:
        /^postgresql:\/\/purser@127\.0\.0\.1:\d+\/\w+ is behind a pooler that does not support prepared statements, .*; use PgBouncer 1\.21 or newer with max_prepared_statements = 100, or pool_mode = session/,
    })
  })

  test('in session mode keeps them, and is accepted', async (context) => {
    const { url } = await databaseOf(context, server)
    const pooled = await startPgBouncer(context, url, { pool_mode: 'session' })
    assert.deepEqual(await checkConnections(pooled, alone), [])
  })

  for (const [settings, outcome] of [
    [{ pool_mode: 'session', default_pool_size: 12 }, 'warned of'],
    [{ pool_mode: 'session', max_client_conn: 12 }, 'warned of'],
    [{ pool_mode: 'session', max_client_conn: 8 }, 'refused'],
  ] as const) {
    test(`with ${JSON.stringify(settings)} gives too few connections, and is ${outcome}`, async (context) => {
      const { url } = await databaseOf(context, server)
      const pooled = await startPgBouncer(context, url, settings)
      const said = await checkConnections(pooled, alone).then(
        (warnings) => warnings.join(),
        (error: Error) => `refused: ${error.message}`,
      )
      const limit = 'max_client_conn' in settings ? settings.max_client_conn : settings.default_pool_size
      const isRefused = outcome === 'refused'
      // The connection that checks first is one of them.
      const words = `${isRefused ? 'refused: ' : ''}\\S+ allows (${limit}|${limit - 1}) connections, .*; set max_client_conn`
      assert.match(said, new RegExp(`^${words}`))
    })
  }
})

describe('A server with few connections', () => {
  for (const { limit, processes, says } of [
    { limit: 14, processes: 1 },
    { limit: 56, processes: 4 },
    { limit: 13, processes: 1, says: /allows 13 connections, and a process may open 14: under load, / },
    {
      limit: 55,
      processes: 4,
      says: /allows 55 connections, and 4 processes may open 56: .*; set the connection limit of the user to 56 \(alter role\), or PURSER_WORKERS to less$/,
    },
    { limit: 10, processes: 1, says: /^refused: .* 10 connections, too few for a process; set / },
    {
      limit: 15,
      processes: 4,
      says: /^refused: .* 15 connections, too few for 4 processes; set /,
    },
    {
      limit: 200,
      processes: 15,
      says: /allows 197 .*; set max_connections to 220 in postgresql\.conf, or put /,
    },
  ]) {
    const outcome =
      says === undefined ? 'is enough' : says.source.startsWith('^') ? 'is refused' : 'is warned of'
    test(`${limit} for processes: ${processes} ${outcome}`, async (context) => {
      const url = await limitedUser(context, limit)
      const said = await checkConnections(url, { processes }).then(
        (warnings) => warnings.join(),
        (error: Error) => `refused: ${error.message}`,
      )
      if (says === undefined) assert.equal(said, '')
      else assert.match(said, says)
    })
  }
})

test('A user who may open no further connection is told which limits to raise', async (context) => {
  const address = await limitedUser(context, 0)
  await assert.rejects(
    withClient(address, (client) => client.query('select 1')),
    {
      name: 'StoreOpenError',
      message:
        /has no connection left for this user; raise max_connections, or the connection limit of the user or the database, or put/,
    },
  )
})

test(
  'npm start behind PgBouncer before 1.21 in transaction mode names a remedy instead of failing payments',
  {
    skip: pgBouncerMissing ?? false,
  },
  async (context) => {
    const { url } = await databaseOf(context, postgres18)
    const pooled = await startPgBouncer(context, url, { pool_mode: 'transaction' })
    const ended = await runProcess(context, {
      folder: makeFolder(context),
      settings: { PURSER_DATABASE: pooled, PURSER_WORKERS: '2' },
    })
    assert.equal(ended.code, 1)
    assert.match(
      ended.stderr,
      /^Purser cannot start: \S+ is behind a pooler that does not support prepared statements, /,
    )
  },
)

/** A user who may open this many connections to a database; the server itself allows 200. */
async function limitedUser(context: Pick<TestContext, 'after'>, limit: number): Promise<string> {
  const { url, drop } = await postgres18.createEmptyDatabase()
  const name = `limited_${process.pid}_${limit}`
  await execute(url, `create role ${name} login password 'limited' connection limit ${limit}`)
  await execute(url, `grant create on schema public to ${name}`)
  context.after(async () => {
    await execute(url, `drop owned by ${name}; drop role ${name}`)
    await drop()
  })
  const address = new URL(url)
  address.username = name
  address.password = 'limited'
  return address.href
}

async function databaseOf(context: Pick<TestContext, 'after'>, server: PostgresServer) {
  const database = await server.createEmptyDatabase()
  context.after(database.drop)
  return database
}

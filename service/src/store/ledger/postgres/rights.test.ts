import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'

import { testCommand } from '../../../../../packages/cli/testing/command.ts'
import { pgBouncerMissing, startPgBouncer } from '../../../../testing/pgbouncer.ts'
import { execute } from '../../../../testing/postgres-databases.ts'
import { postgres18, postgresServers, type PostgresServer } from '../../../../testing/postgres.ts'
import { makeFolder, runProcess } from '../../../../test/process.ts'
import { examine } from '../../../commands/examine.ts'
import { checkConnections } from '../../../start/postgres-connections.ts'
import { withClient } from './connection.ts'
import { distribute } from './distribution.ts'
import { migrate } from './migrate.ts'

const alone = { processes: 1 }
const all = 'select, insert, update, delete'
const remedy = (user: string) =>
  `make it the owner of all tables of Purser, or run grant ${all} on all tables in schema public to ${user}`

for (const server of postgresServers) {
  describe(server.name, { skip: server.missing ?? false }, () => {
    test('a user with all rights on the tables, who may not create any, passes and needs no migration', async (context) => {
      const { url } = await userWith(context, server, `grant ${all} on all tables in schema public to USER`)
      assert.deepEqual(await checkConnections(url, alone), [])
      assert.equal(await withClient(url, migrate), 1)
    })

    test('a user who lacks a right on one table is refused', async (context) => {
      const { url, user } = await userWith(
        context,
        server,
        `grant ${all} on all tables in schema public to USER; revoke delete on authorizations from USER`,
      )
      await assertRefused(
        checkConnections(url, alone),
        `does not give this user DELETE on authorizations; ${remedy(user)}`,
      )
    })
  })
}

for (const [grants, lacking] of [
  [
    'grant select on all tables in schema public to USER',
    /INSERT, UPDATE, DELETE on \w+, \w+, \w+ and \d+ more$/,
  ],
  ['', /SELECT, INSERT, UPDATE, DELETE on \w+, \w+, \w+ and \d+ more$/],
  [
    `grant ${all} on all tables in schema public to USER; revoke insert on service_secrets from USER; revoke update on purser_schema from USER`,
    /INSERT, UPDATE on purser_schema, service_secrets$/,
  ],
] as const) {
  test(`A user with the rights ${JSON.stringify(grants)} is refused`, async (context) => {
    const { url, user } = await userWith(context, postgres18, grants)
    const error: unknown = await checkConnections(url, alone).catch((failure: unknown) => failure)
    const [problem = '', ...rest] = (error as Error).message.split('; ')
    assert.match(problem, lacking)
    assert.equal(rest.join('; '), remedy(user))
  })
}

test('The doctor names the missing grant to a user who has no right at all', async (context) => {
  const { url, user } = await userWith(context, postgres18, '')
  const environment = { PURSER_DATABASE: url }
  const findings = await examine({ calledAs: 'purser', environment, folder: makeFolder(context) })
  const ledger = findings.find(({ subject }) => subject === 'ledger')
  assert.ok(ledger?.finding.endsWith(remedy(user)), ledger?.finding)
})

test('An empty database needs a user who may create tables', async (context) => {
  const { url, owner, user } = await userWith(context, postgres18, undefined)
  await assertRefused(
    checkConnections(url, alone),
    'does not let this user create tables (permission denied for schema public); grant it CREATE on the schema, or make it the owner of the database',
  )
  await execute(owner, `grant create on schema public to ${user}`)
  assert.deepEqual(await checkConnections(url, alone), [])
})

test('An upgrade of the schema needs the owner of the tables', async (context) => {
  const { url, owner, user } = await userWith(
    context,
    postgres18,
    `grant ${all} on all tables in schema public to USER; grant create on schema public to USER; alter table purser_schema owner to USER`,
  )
  await execute(owner, 'update purser_schema set version = 0')
  const error: unknown = await checkConnections(url, alone).catch((failure: unknown) => failure)
  assert.match(
    (error as Error).message,
    new RegExp(
      `needs an upgrade of its schema, and this user does not own \\w+, \\w+, \\w+ and \\d+ more; make it the owner with alter table … owner to ${user}, or run purser migrate up as the owner$`,
    ),
  )
  await assert.rejects(withClient(url, migrate), { message: (error as Error).message })
})

test('A start and doctor say which right is missing', async (context) => {
  const { url, user } = await userWith(
    context,
    postgres18,
    `grant ${all} on all tables in schema public to USER; revoke delete on authorizations from USER`,
  )
  const said = `does not give this user DELETE on authorizations; ${remedy(user)}`
  const settings = { PURSER_DATABASE: url }
  const ended = await runProcess(context, { folder: makeFolder(context), settings })
  assert.equal(ended.code, 1)
  assert.ok(ended.stderr.endsWith(` ${said}.\n`), ended.stderr)
  const { folder } = testCommand(context)
  const findings = await examine({ calledAs: 'purser', environment: settings, folder })
  const [found, ...others] = findings.filter(({ mark }) => mark === 'fail')
  assert.ok(found?.finding.endsWith(said), JSON.stringify(findings))
  assert.deepEqual(others, [])
})

test('Rights are checked through PgBouncer', { skip: pgBouncerMissing ?? false }, async (context) => {
  const grants = `grant ${all} on all tables in schema public to USER`
  const { url, owner, user } = await userWith(context, postgres18, grants)
  const pooled = await startPgBouncer(context, url, { pool_mode: 'session' })
  assert.deepEqual(await checkConnections(pooled, alone), [])
  await execute(owner, `revoke update on mandates from ${user}`)
  await assertRefused(
    checkConnections(pooled, alone),
    `does not give this user UPDATE on mandates; ${remedy(user)}`,
  )
})

async function assertRefused(checked: Promise<unknown>, said: string): Promise<void> {
  await assert.rejects(checked, (error: Error) => {
    assert.equal(error.name, 'StoreOpenError')
    assert.ok(error.message.endsWith(` ${said}`), error.message)
    return true
  })
}

let users = 0

/** A user, called USER in the grants, of a database with Purser's tables; without grants, of an empty one. */
async function userWith(
  context: Pick<TestContext, 'after'>,
  server: PostgresServer,
  grants: string | undefined,
) {
  const { url: owner, drop } = await server.createEmptyDatabase()
  const user = `rights_${process.pid}_${++users}`
  await execute(owner, `create role ${user} login password 'rights'`)
  context.after(async () => {
    await execute(owner, `drop owned by ${user} cascade; drop role ${user}`)
    await drop()
  })
  if (grants !== undefined) {
    await withClient(owner, async (client, place) => {
      await migrate(client, place)
      if (server.isDistributed) await distribute(client, place)
    })
    if (grants !== '') await execute(owner, grants.replaceAll('USER', user))
  }
  const address = new URL(owner)
  address.username = user
  address.password = 'rights'
  return { url: address.href, owner, user }
}

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'

import { Client } from 'pg'

import { postgres18, postgresServers } from '../../../../testing/postgres.ts'
import { withClient } from './connection.ts'
import { distribute, readDistribution, tenantTables } from './distribution.ts'
import { migrate } from './migrate.ts'

const citus = postgresServers.find(({ isDistributed, missing }) => isDistributed && missing === undefined)
const skip =
  citus === undefined &&
  'no Citus is at hand: PURSER_TEST_POSTGRES names its coordinator, with PURSER_TEST_POSTGRES_DISTRIBUTE=1'

test('Nothing is spread where there is no Citus, and the words say so', async (context) => {
  const database = await postgres18.createDatabase()
  context.after(() => database.drop())
  await withClient(database.url, async (client, place) => {
    assert.equal(await readDistribution(client), undefined)
    await assert.rejects(distribute(client, place), {
      name: 'StoreOpenError',
      message: /^The server of postgresql:.* does not have Citus installed, so tables cannot be distributed/,
    })
  })
})

test(
  'The tables of tenants are spread together by account_id, once; directories are not',
  { skip },
  async (context) => {
    const { client, url } = await spreadDatabase(context)
    await withClient(url, async (again, place) => assert.deepEqual(await distribute(again, place), []))
    const { rows } = await client.query<{ name: string; column: string; together: number }>(`
    select logicalrelid::text as name, colocationid as together,
      column_to_column_name(logicalrelid, partkey) as column from pg_dist_partition`)
    assert.deepEqual(rows.map(({ name }) => name).toSorted(), [...tenantTables].toSorted())
    assert.deepEqual(new Set(rows.map(({ column }) => column)), new Set(['account_id']))
    assert.equal(new Set(rows.map(({ together }) => together)).size, 1)
  },
)

async function spreadDatabase(context: TestContext): Promise<{ client: Client; url: string }> {
  const database = await (citus ?? assert.fail('there is a Citus')).createEmptyDatabase()
  const client = new Client({ connectionString: database.url })
  await client.connect()
  context.after(async () => {
    await client.end()
    await database.drop()
  })
  await migrate(client, 'the database')
  assert.deepEqual(await distribute(client, 'the database'), tenantTables)
  return { client, url: database.url }
}

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test, type TestContext } from 'node:test'

import { Client } from 'pg'

import { postgres18, postgresServers } from '../../../../testing/postgres.ts'
import { withClient } from './connection.ts'
import { distribute, hashUuid, readDistribution, sharedTables, tenantTables } from './distribution.ts'
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

test('The shard of an account follows from the hash that PostgreSQL makes of its id', async (context) => {
  const database = await postgres18.createDatabase()
  context.after(() => database.drop())
  const ids = Array.from({ length: 100 }, () => randomUUID())
  await withClient(database.url, async (client) => {
    const { rows } = await client.query<{ hash: number }>(
      'select uuid_hash(id) as hash from unnest($1::uuid[]) as id',
      [ids],
    )
    assert.deepEqual(
      ids.map((id) => hashUuid(Buffer.from(id.replaceAll('-', ''), 'hex'))),
      rows.map(({ hash }) => hash),
    )
  })
})

test(
  'The tables of tenants are spread together by account_id, once; every machine has the others',
  { skip },
  async (context) => {
    const { client, url } = await spreadDatabase(context)
    await withClient(url, async (again, place) => assert.deepEqual(await distribute(again, place), []))
    const { rows } = await client.query<{ name: string; column: string | null; together: number }>(`
      select logicalrelid::text as name, colocationid as together,
        case when partmethod = 'h' then column_to_column_name(logicalrelid, partkey) end as column
      from pg_dist_partition`)
    const [spread, everywhere] = [true, false].map((isSpread) =>
      rows.filter(({ column }) => (column === 'account_id') === isSpread),
    )
    assert.deepEqual(spread?.map(({ name }) => name).toSorted(), [...tenantTables].toSorted())
    assert.equal(new Set(spread?.map(({ together }) => together)).size, 1)
    assert.deepEqual(everywhere?.map(({ name }) => name).toSorted(), [...sharedTables].toSorted())
    const { rows: keyless } = await client.query(`
      select logicalrelid from pg_dist_partition
      where not exists (select 1 from pg_index where indrelid = logicalrelid and indisprimary)`)
    assert.deepEqual(keyless, [], 'a shard moves under load only by the primary key of its rows')
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
  assert.deepEqual(await distribute(client, 'the database'), [...tenantTables, ...sharedTables])
  return { client, url: database.url }
}

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

import { Client } from 'pg'

import { postgres18 } from '../../testing/postgres.ts'
import { seededRandom } from '../../testing/seeded-random.ts'
import { PostgresProxy } from './postgres-proxy.ts'
import type { WireFault } from './proxied-connection.ts'

test('The proxy forwards everything, in both forms of the protocol', async (context) => {
  const { connect } = await startProxy(context)
  const client = await connect()
  assert.deepEqual((await client.query('select 1 as one')).rows, [{ one: 1 }])
  const statement = { name: 'sum', text: 'select $1::int + $2::int as sum' }
  for (const values of [
    [1, 2],
    [3, 4],
  ]) {
    const { rows } = await client.query({ ...statement, values })
    assert.deepEqual(rows, [{ sum: (values[0] ?? 0) + (values[1] ?? 0) }])
  }
  await insertOne(client)
  assert.equal(await countRows(client), 1)
})

const commitFaults: readonly { readonly fault: WireFault; readonly written: number }[] = [
  { fault: 'lose COMMIT on its way', written: 0 },
  { fault: 'lose the reply to COMMIT', written: 1 },
  { fault: 'deliver COMMIT late', written: 1 },
]

for (const { fault, written } of commitFaults) {
  test(`The proxy can ${fault}: the client gets no answer, and ${written} rows are written`, async (context) => {
    const { connect, proxy } = await startProxy(context)
    const client = await connect()
    const striking = proxy.strike(fault, 5_000)
    await assert.rejects(insertOne(client), /Connection terminated/)
    assert.equal(await striking, true)
    const other = await connect()
    if (written > 0) while ((await countRows(other)) === 0) await sleep(10)
    assert.equal(await countRows(other), written)
  })
}

test('The proxy can swallow the reply to COMMIT: the row is written, and the client waits', async (context) => {
  const { connect, proxy } = await startProxy(context)
  const client = await connect()
  const striking = proxy.strike('swallow the reply to COMMIT', 5_000)
  let isAnswered = false
  const inserting = insertOne(client).then(() => (isAnswered = true))
  assert.equal(await striking, true)
  const other = await connect()
  assert.equal(await countRows(other), 1)
  await sleep(50)
  assert.equal(isAnswered, false)
  proxy.cutAll()
  await assert.rejects(inserting, /Connection terminated/)
})

test('A fault without an opportunity is not injected', async (context) => {
  const { proxy } = await startProxy(context)
  assert.equal(await proxy.strike('lose the reply to COMMIT', 20), false)
})

test('The proxy can make every transaction conflict: the service gets the error, and nothing is written', async (context) => {
  const { connect, proxy } = await startProxy(context, 100)
  const client = await connect({ pipeline: true })
  const codes = new Set<string>()
  for (let tries = 0; tries < 20; tries++) {
    const answers = await Promise.allSettled([
      client.query('begin'),
      client.query({ name: 'insert', text: 'insert into notes values ($1)', values: ['one'] }),
      client.query({ name: 'count', text: 'select count(*) from notes where note = $1', values: ['one'] }),
      client.query('commit'),
    ])
    await client.query('rollback')
    const failed = answers.find((answer) => answer.status === 'rejected')
    codes.add((failed?.reason as { code: string } | undefined)?.code ?? 'none')
  }
  assert.deepEqual([...codes].sort(), ['40001', '40P01'])
  proxy.areClashesOn = false
  assert.equal(await countRows(client), 0)
  await insertOne(client)
  assert.equal(await countRows(client), 1)
  assert.equal(proxy.clashes['40001'] + proxy.clashes['40P01'], 20)
})

/** A proxy in front of a database that has a table of notes. */
async function startProxy(context: TestContext, clashPercent = 0) {
  const database = await postgres18.createEmptyDatabase()
  const address = new URL(database.url)
  const direct = new Client({ connectionString: database.url })
  await direct.connect()
  await direct.query('create table notes (note text)')
  await direct.end()
  const proxy = new PostgresProxy({
    upstreamPort: Number(address.port),
    random: seededRandom(1),
    clashPercent,
  })
  address.port = String(await proxy.listen())
  const clients: Client[] = []
  context.after(async () => {
    for (const client of clients) await client.end()
    await proxy.close()
    await database.drop()
  })

  async function connect(options: { readonly pipeline?: boolean } = {}): Promise<Client> {
    const client = new Client({ connectionString: address.href, ...options })
    client.on('error', () => undefined)
    await client.connect()
    clients.push(client)
    return client
  }
  return { proxy, connect }
}

async function insertOne(client: Client): Promise<void> {
  await client.query('begin')
  await client.query('insert into notes values ($1)', ['one'])
  await client.query('commit')
}

async function countRows(client: Client): Promise<number> {
  const { rows } = await client.query<{ count: string }>('select count(*) from notes')
  return Number(rows[0]?.count)
}

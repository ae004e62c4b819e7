import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'

import type { PoolClient } from 'pg'

import { postgres18 } from '../../../../testing/postgres.ts'
import { openPool } from './connection.ts'
import { roundTrip } from './round-trip.ts'

const insert = { name: 'insert_note', text: 'insert into notes values ($1, $2, $3)' }
const read = { text: 'select id, note, bytes, id = 1 as is_first from notes order by id' }

test('Statements that are sent together are answered together, whatever their values', async (context) => {
  const client = await connect(context)
  for (const first of [1, 3]) {
    const answers = await roundTrip(client, [
      { text: 'begin' },
      { ...insert, values: [first, 'it\'s "one", \\1', Buffer.from([0, 255])] },
      { ...insert, values: [BigInt(first) + 1n, null, undefined] },
      read,
      { text: 'commit' },
    ])
    assert.deepEqual(
      answers.map(({ command }) => command),
      ['BEGIN', 'INSERT', 'INSERT', 'SELECT', 'COMMIT'],
    )
    const rows = [1, 2, 3, 4].slice(0, first + 1).map((id) => ({
      id: String(id),
      note: id % 2 === 1 ? 'it\'s "one", \\1' : null,
      bytes: id % 2 === 1 ? Buffer.from([0, 255]) : null,
      is_first: id === 1,
    }))
    assert.deepEqual(
      answers[3]?.rows.map((row) => ({ ...(row as object) })),
      rows,
    )
  }
})

test('After a statement fails, none is run, its error is thrown, and the skipped ones can be sent again', async (context) => {
  const client = await connect(context)
  const twice = { ...insert, values: [7, null, null] }
  await assert.rejects(roundTrip(client, [{ text: 'begin' }, twice, twice, read, { text: 'commit' }]), {
    code: '23505',
  })
  await client.query('rollback')
  assert.deepEqual((await roundTrip(client, [read]))[0]?.rows, [])
  await assert.rejects(roundTrip(client, [{ name: 'bad', text: 'select nothing' }, read]), { code: '42703' })
  const [written, dropped, found] = await roundTrip(client, [
    twice,
    { name: 'bad', text: 'select 1 as one' },
    read,
  ])
  assert.deepEqual([written?.command, dropped?.command, found?.command], ['INSERT', 'SELECT', 'SELECT'])
  assert.deepEqual([dropped?.rows, found?.rows.length], [[], 1])
})

test('A named statement is prepared once per connection', async (context) => {
  const client = await connect(context)
  const named = { ...read, name: 'read_notes' }
  for (let asked = 0; asked < 3; asked++) await roundTrip(client, [named, named])
  const { rows } = await client.query(
    'select name, generic_plans + custom_plans as plans from pg_prepared_statements',
  )
  assert.deepEqual(rows, [{ name: 'read_notes', plans: '6' }])
})

test('A prepared statement is answered in its own format, also after the table was changed', async (context) => {
  const client = await connect(context)
  const all = {
    name: 'all',
    text: 'select note, id from notes',
    decodeRow: ([note, id]: readonly (string | null)[]) => ({ note, id }),
  }
  const [, before] = await roundTrip(client, [{ ...insert, values: [1, 'one', null] }, all])
  await client.query('alter table notes add column more text')
  const [after] = await roundTrip(client, [all])
  assert.deepEqual(before?.rows, [{ note: 'one', id: '1' }])
  assert.deepEqual(after?.rows, before?.rows)
})

test('A broken connection fails its pending statements', async (context) => {
  const client = await connect(context)
  await assert.rejects(roundTrip(client, [{ text: 'select pg_terminate_backend(pg_backend_pid())' }]))
  await assert.rejects(roundTrip(client, [read]))
})

async function connect(context: TestContext): Promise<PoolClient> {
  const database = await postgres18.createEmptyDatabase()
  const pool = openPool(database.url, { max: 1 })
  const client = await pool.connect()
  context.after(async () => {
    client.release(true)
    await pool.end()
    await database.drop()
  })
  await client.query('create table notes (id bigint primary key, note text, bytes bytea)')
  return client
}

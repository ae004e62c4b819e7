import assert from 'node:assert/strict'
import { Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

import type { QueryConfig } from 'pg'

import { postgres18 } from '../../../testing/postgres.ts'
import { openPool } from '../ledger/postgres/connection.ts'
import { Pipeline } from './pipeline.ts'
import { rowsOf } from './queries.ts'

// Decision 126: transactions over one connection, none of which waits for the answers to those before it.

test('Transactions go over one connection in their order, and it is let go when there are no more [decision.126]', async (context) => {
  const warnings: Error[] = []
  const onWarning = (warning: Error) => warnings.push(warning)
  process.on('warning', onWarning)
  context.after(() => process.off('warning', onWarning))
  const { pool, write, notes } = await open(context)
  const pids = await Promise.all(Array.from({ length: 40 }, (_, id) => write(id)))
  assert.equal(new Set(pids).size, 1)
  await sleep(1)
  assert.deepEqual(warnings, [])
  assert.deepEqual(
    await notes(),
    Array.from({ length: 40 }, (_, id) => id),
  )
  assert.equal(pool.totalCount, pool.idleCount)
})

test('One is sent before the one ahead of it is answered [decision.126]', async (context) => {
  const { write, lock } = await open(context)
  await write(1)
  const unlock = await lock()
  const { mock } = context.mock.method(Socket.prototype, 'uncork')
  const written = [write(2), write(3)]
  await sleep(20)
  const sent = mock.callCount()
  mock.restore()
  await unlock()
  assert.equal(sent, 2)
  assert.equal(new Set(await Promise.all(written)).size, 1)
})

test('What fails takes those with it that were sent behind it, and no others [decision.126]', async (context) => {
  const { write, notes } = await open(context)
  const pid = await write(1)
  const outcomes = await Promise.allSettled([write(2), write(1), write(3)])
  assert.deepEqual(
    outcomes.map((one) => (one.status === 'fulfilled' ? 'done' : (one.reason as { code: string }).code)),
    ['done', '23505', '25P02'],
  )
  assert.equal(await write(4), pid, 'over the same connection')
  assert.deepEqual(await notes(), [1, 2, 4])
})

test('A connection that breaks fails what is on its way, and the next goes over another [decision.126]', async (context) => {
  const { pool, pipeline, write, notes } = await open(context)
  const first = await write(1)
  const broken = [
    pipeline.run(({ commit }) => commit({ text: 'select pg_terminate_backend(pg_backend_pid())' })),
    write(2),
  ]
  for (const { status } of await Promise.allSettled(broken)) assert.equal(status, 'rejected')
  assert.notEqual(await write(3), first)
  assert.deepEqual(await notes(), [1, 3])
  assert.equal(pool.totalCount, pool.idleCount)
})

test('Where there is no connection each fails, and later ones are tried anew [decision.126]', async (context) => {
  const { pool, write, notes } = await open(context)
  const failing = context.mock.method(pool, 'connect', () => Promise.reject(new Error('none is left')))
  for (const { status } of await Promise.allSettled([write(1), write(2)])) assert.equal(status, 'rejected')
  failing.mock.restore()
  await write(3)
  assert.deepEqual(await notes(), [3])
})

test('Its time is over when the patience is, and nothing of it stays [decision.126]', async (context) => {
  const { pipeline, write, notes, lock } = await open(context)
  await write(1)
  const unlock = await lock()
  await assert.rejects(
    pipeline.run(({ commit }) => commit(insert(2)), 50),
    { code: 'ETIMEDOUT' },
  )
  await unlock()
  await write(3)
  assert((await notes()).includes(3))
})

test('It is not free while the oldest waits for a lock [decision.126]', async (context) => {
  const { pipeline, write, lock } = await open(context)
  assert(pipeline.isFree)
  const unlock = await lock()
  const waiting = write(1)
  assert(pipeline.isFree, 'it has only begun')
  await sleep(60)
  assert(!pipeline.isFree)
  await unlock()
  await waiting
  assert(pipeline.isFree)
})

function insert(id: number): QueryConfig {
  return {
    name: 'insert_note',
    text: 'insert into notes values ($1) returning pg_backend_pid() as pid',
    values: [id],
  }
}

async function open(context: TestContext) {
  const database = await postgres18.createEmptyDatabase()
  const pool = openPool(database.url, { max: 3 })
  const others = openPool(database.url, { max: 1 })
  context.after(async () => {
    await Promise.all([pool.end(), others.end()])
    await database.drop()
  })
  await pool.query('create table notes (id bigint primary key, place bigserial)')
  const pipeline = new Pipeline(pool)
  return {
    pool,
    pipeline,
    /** Writes a note; the process of the server that did. */
    write: (id: number) =>
      pipeline.run(async ({ commit }) => {
        const [answer] = await commit(insert(id))
        return rowsOf<{ pid: number }>(answer)[0]?.pid
      }),
    async notes(): Promise<number[]> {
      const { rows } = await pool.query<{ id: string }>('select id from notes order by place')
      return rows.map(({ id }) => Number(id))
    },
    /** Keeps everybody else from writing, until what it gives is called. */
    async lock(): Promise<() => Promise<void>> {
      const client = await others.connect()
      await client.query('begin; lock table notes in share mode')
      return async () => {
        await client.query('commit')
        client.release()
      }
    },
  }
}

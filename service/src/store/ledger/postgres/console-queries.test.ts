import assert from 'node:assert/strict'
import { test } from 'node:test'

import { postgres18 } from '../../../../testing/postgres.ts'
import { QueryTooSlowError } from '../../store.ts'
import { openPool } from './connection.ts'
import { prepareQueries } from './console-queries.ts'

test('A query that takes too long is ended by the server and leaves nothing on the connection', async (context) => {
  const { url, drop } = await postgres18.createDatabase()
  const pool = openPool(url, { max: 1 })
  context.after(async () => {
    await pool.end()
    await drop()
  })
  const ask = prepareQueries(pool, { retry: (work) => work(), timeoutMs: 50 })
  const settings = "select current_setting('statement_timeout') as timeout"
  const before = (await pool.query(settings)).rows
  await assert.rejects(async () => ask('select pg_sleep(10)', []), QueryTooSlowError)
  assert.deepEqual(await ask('select 1 as one', []), [{ one: 1 }])
  assert.deepEqual((await pool.query(settings)).rows, before, 'without a limit')
  await assert.rejects(async () => ask('delete from mandates', []), { code: '25006' })
})

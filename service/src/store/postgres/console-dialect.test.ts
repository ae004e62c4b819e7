import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'

import { postgres18 } from '../../../testing/postgres.ts'
import { openPool } from './connection.ts'
import { prepareQueries } from './console-dialect.ts'
import { withRetries } from './retries.ts'

test('A query that takes too long is ended by the server, and leaves nothing on the connection [decision.116] [decision.64]', async (t) => {
  const ask = await prepare(t, 100)
  await assert.rejects(async () => ask('select pg_sleep(30)', []), { name: 'QueryTooSlowError' })
  const [timeout] = await ask('show statement_timeout', [])
  assert.deepEqual(timeout, { statement_timeout: '100ms' }, 'within the transaction')
  const [role] = await ask(`select current_setting('transaction_read_only') as is_read_only`, [])
  assert.deepEqual(role, { is_read_only: 'on' })
  await assert.rejects(async () => ask('create table x ()', []), {
    name: 'StoreUnavailableError',
    message: /25006/,
  })
})

async function prepare(t: TestContext, timeoutMs: number) {
  const database = await postgres18.createDatabase()
  const pool = openPool(database.url, { max: 1 })
  t.after(async () => {
    await pool.end()
    await database.drop()
  })
  return prepareQueries(pool, { retry, timeoutMs })
}

function retry<Rows>(work: () => Promise<Rows>): Promise<Rows> {
  return withRetries({ deadlineMs: performance.now() + 1_000, random: Math.random }, work)
}

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { setImmediate as turnOfTheLoop } from 'node:timers/promises'

import { postgres18 } from '../../../../testing/postgres.ts'
import { lookUpCallers, prepareCallers } from './callers.ts'
import { openPool } from './connection.ts'

const [first, second, third] = ['1', '2', '3'].map((key) => createHash('sha256').update(key).digest())

test('Keys that arrive together are looked up together, and one that comes while that look-up hangs is not kept waiting by it [decision.60]', async (context) => {
  const { url, drop } = await postgres18.createDatabase()
  const pool = openPool(url, { max: 2 })
  context.after(async () => {
    await pool.end()
    await drop()
  })
  await pool.query(
    `insert into accounts (id, name, email, idp_user_id, created_at_ms) values ('acct_1', '', '', '', 0)`,
  )
  await pool.query(
    `insert into api_keys (account_id, id, environment, role, hint, created_at_ms)
     values ('acct_1', 'key_3', 'sandbox', 'owner', '…', 0)`,
  )
  await pool.query(
    `insert into api_key_hashes (secret_hash, account_id, key_id) values ($1, 'acct_1', 'key_3')`,
    [third],
  )
  const asked: number[] = []
  const hangs = Promise.withResolvers<void>()
  const callers = prepareCallers(pool, {
    maxWaiting: 16,
    beside: { least: 16, waitMs: 5 },
    retry: (work) => work(),
    lookUp: async (onPool, hashes) => {
      if (asked.push(hashes.length) === 1) await hangs.promise
      return lookUpCallers(onPool, hashes)
    },
  })
  assert(first && second && third)
  const together = [callers.submit(first), callers.submit(second)]
  await turnOfTheLoop()
  const caller = await callers.submit(third)
  assert.deepEqual([caller?.keyId, caller?.role], ['key_3', 'owner'])
  assert.deepEqual(asked, [2, 1])
  hangs.resolve()
  assert.deepEqual(await Promise.all(together), [undefined, undefined])
})

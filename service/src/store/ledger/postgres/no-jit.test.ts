import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'

import type { PoolClient } from 'pg'

import { createIdsOfTimes } from '../../../ids.ts'
import { postgresServers, type PostgresServer } from '../../../../testing/postgres.ts'
import { openPool, withClient } from './connection.ts'
import { lock } from '../operation.ts'
import { strayDenials } from '../tables.ts'
import { prepareQueries } from './console-queries.ts'
import { readShards } from './distribution.ts'
import { createPostgresDriver } from './postgres-driver.ts'
import { inTransaction } from '../../../../testing/transactions.ts'

// Decision 0019: a server with JIT, such as Debian's, assigns a disabled plan a huge cost, and then spends
// seventy milliseconds compiling it for each payment.

const unknownId = createIdsOfTimes()('account', 0)
const costly = 'select count(*) from generate_series(1, 1000000000)'

for (const server of postgresServers) {
  const skip = server.missing ?? false
  test(`${server.name} compiles no statement of a payment`, { skip }, async (context) => {
    const { pool, url } = await prepare(server, context)
    const driver = createPostgresDriver(pool, await withClient(url, readShards))
    let client: PoolClient | undefined
    pool.on('acquire', (acquired) => (client = acquired))
    const plan = await inTransaction(driver, async ({ read }) => {
      await read([lock(strayDenials, { accountId: unknownId, environment: 'sandbox' })], {
        waitsForLocks: false,
      })
      return client?.query(`explain ${costly}`)
    })
    assert.match(JSON.stringify(plan?.rows), /cost=/)
    assert.doesNotMatch(JSON.stringify(plan?.rows), /JIT/)
  })

  test(`${server.name} compiles no console query`, { skip }, async (context) => {
    const { pool } = await prepare(server, context)
    const ask = prepareQueries(pool, { retry: (work) => work() })
    const plan = await ask(`explain ${costly}`, [])
    assert.match(JSON.stringify(plan), /cost=/)
    assert.doesNotMatch(JSON.stringify(plan), /JIT/)
  })
}

async function prepare(server: PostgresServer, context: TestContext) {
  const { url, drop } = await server.createDatabase()
  const pool = openPool(url, { max: 1 })
  context.after(async () => {
    await pool.end()
    await drop()
  })
  return { pool, url }
}

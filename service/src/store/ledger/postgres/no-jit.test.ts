import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'

import { postgresServers, type PostgresServer } from '../../../../testing/postgres.ts'
import { openPool } from './connection.ts'
import { prepareQueries } from '../../postgres/console-dialect.ts'
import { readSellers } from '../../postgres/payment-statements.ts'
import { prepareTransactions } from '../../postgres/transaction.ts'

// Decision 64: a server with JIT, as Debian's is, takes a plan that is ruled out for one of the dearest, and spends seventy
// milliseconds to compile it, for each payment.

for (const server of postgresServers) {
  const skip = server.missing ?? false
  test(`${server.name} compiles no statement of a payment [decision.64]`, { skip }, async (context) => {
    const pool = await prepare(server, context)
    // A table of one row that the server knows has no plan but one that is ruled out.
    await pool.query(`insert into seller_domains values ('sandbox', 'shop.example', 'acct_1', 'seller_1')`)
    await pool.query('analyze seller_domains')
    const inTransaction = prepareTransactions(pool, { random: Math.random })
    const { text, values = [] } = readSellers([{ environment: 'sandbox', domain: 'shop.example' }])
    const plan = await inTransaction({ deadlineMs: performance.now() + 60_000 }, async (transaction) => {
      const [answer] = await transaction.ask({ text: `explain ${text}`, values })
      await transaction.commit()
      return JSON.stringify(answer?.rows)
    })
    assert.match(plan, /cost=/)
    assert.doesNotMatch(plan, /JIT/)
  })

  test(`${server.name} compiles nothing that the console asks [decision.64]`, { skip }, async (context) => {
    const pool = await prepare(server, context)
    const ask = prepareQueries(pool, { retry: (work) => work() })
    const plan = await ask('explain select count(*) from generate_series(1, 1000000000)', [])
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
  return pool
}

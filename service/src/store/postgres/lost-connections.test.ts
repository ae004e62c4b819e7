import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

import { Client } from 'pg'

import { postgres18, postgresServers } from '../../../testing/postgres.ts'
import { StoreLedger } from '../../../testing/store-ledger.ts'
import { openPool } from '../ledger/postgres/connection.ts'
import { openPostgresStore } from './postgres-store.ts'
import { rowsOf } from './queries.ts'
import { prepareTransactions } from './transaction.ts'

test('A payment whose connection is ended in the middle of its batch is written on another one [decision.27]', async (context) => {
  const { url, drop } = await postgres18.createDatabase()
  context.after(drop)
  const store = await openPostgresStore({ url })
  const ledger = new StoreLedger({ store, close: () => store.close() })
  const other = new Client({ connectionString: url })
  await other.connect()
  context.after(async () => {
    await other.end()
    await ledger.close()
  })
  const { sandbox } = await ledger.tenant()
  const mandate = await ledger.mandate(sandbox)
  const hold = await ledger.hold(mandate)

  await other.query('begin')
  await other.query('select 1 from mandates where id = $1 for update', [mandate.id])
  const paying = ledger.pay(sandbox, hold)
  await untilSomebodyWaits(other)
  await other.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid()`,
  )
  await other.query('rollback')

  const transactionId = await paying
  assert.equal((await store.findProof({ ...sandbox, nonce: hold.nonce }))?.transactionId, transactionId)
  assert.deepEqual(await ledger.sums(mandate), { spent: '1.00', held: '0.00' })
})

for (const server of postgresServers) {
  const skip = server.missing ?? false
  test(
    `${server.name} is told to end a transaction of which the rest never arrives, from 17 on [decision.65] [decision.64]`,
    { skip },
    async (context) => {
      const { url, drop } = await server.createDatabase()
      const pool = openPool(url, { max: 1 })
      context.after(async () => {
        await pool.end()
        await drop()
      })
      const read = {
        text: `select current_setting('server_version_num')::int as version,
        current_setting('transaction_timeout', true) as limit`,
      }
      interface Limit {
        readonly version: number
        readonly limit: string | null
      }
      const inTransaction = prepareTransactions(pool, { random: Math.random })
      const inside = await inTransaction({ deadlineMs: performance.now() + 60_000 }, async (transaction) => {
        const [answer] = await transaction.ask(read)
        await transaction.commit()
        return rowsOf<Limit>(answer)[0]
      })
      const [outside] = (await pool.query<Limit>(read)).rows
      const isKnown = Number(inside?.version) >= 170_000
      assert.deepEqual([inside?.limit, outside?.limit], isKnown ? ['10s', '0'] : [null, null])
    },
  )
}

/** Resolves once a connection of the database waits for a lock. */
async function untilSomebodyWaits(client: Client): Promise<void> {
  for (;;) {
    const { rows } = await client.query(
      `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    if (rows.length > 0) return
    await sleep(5)
  }
}

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

import { Client, type PoolClient } from 'pg'

import { postgres18, postgresServers } from '../../../../testing/postgres.ts'
import { StoreLedger } from '../../../../testing/store-ledger.ts'
import { openPool, withClient } from './connection.ts'
import { createIdsOfTimes } from '../../../ids.ts'
import { lock } from '../operation.ts'
import { strayDenials } from '../tables.ts'
import { readShards } from './distribution.ts'
import { createPostgresDriver } from './postgres-driver.ts'
import { openPostgresLedgerStore } from './postgres-ledger-store.ts'
import { uuidOf } from './postgres-reader.ts'
import { inTransaction } from '../../../../testing/transactions.ts'

test('A payment whose connection is closed in the middle of its batch is written on another connection', async (context) => {
  const { url, drop } = await postgres18.createDatabase()
  context.after(drop)
  const store = await openPostgresLedgerStore({ url, nextId: createIdsOfTimes() })
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
  await other.query('select 1 from mandates where id = $1 for update', [uuidOf('mandate', mandate.id)])
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

test('A mandate that is locked elsewhere does not stop others from being swept, and is swept later', async (context) => {
  const { url, drop } = await postgres18.createDatabase()
  context.after(drop)
  const store = await openPostgresLedgerStore({ url, nextId: createIdsOfTimes() })
  const ledger = new StoreLedger({ store, close: () => store.close() })
  const other = new Client({ connectionString: url })
  await other.connect()
  context.after(async () => {
    await other.end()
    await ledger.close()
  })
  const { sandbox } = await ledger.tenant()
  const [locked, free] = [await ledger.mandate(sandbox), await ledger.mandate(sandbox)]
  const { expiresAtMs } = await ledger.hold(locked)
  await ledger.hold(free)
  ledger.clock.nowMs = expiresAtMs
  await other.query('begin')
  await other.query('select 1 from mandates where id = $1 for update', [uuidOf('mandate', locked.id)])
  const startedAtMs = performance.now()
  assert.equal(await store.releaseExpiredHolds(ledger.clock.nowMs, 10), 1)
  const later = await ledger.hold(free)
  ledger.clock.nowMs = later.expiresAtMs
  assert.equal(await store.releaseExpiredHolds(ledger.clock.nowMs, 10), 1)
  assert.ok(performance.now() - startedAtMs < 8_000, 'no call waits until the lock is released')
  await other.query('rollback')
  assert.equal(await store.releaseExpiredHolds(ledger.clock.nowMs, 10), 1)
  assert.deepEqual(await ledger.sums(locked), { spent: '0.00', held: '0.00' })
})

for (const server of postgresServers) {
  const skip = server.missing ?? false
  test(
    `${server.name} ends a transaction whose remaining statements never arrive, from version 17 on`,
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
      let client: PoolClient | undefined
      pool.on('acquire', (acquired) => (client = acquired))
      const accountId = createIdsOfTimes()('account', 0)
      const inside = await inTransaction(
        createPostgresDriver(pool, await withClient(url, readShards)),
        async (transaction) => {
          const reads = [lock(strayDenials, { accountId, environment: 'sandbox' })]
          await transaction.read(reads, { waitsForLocks: false })
          return (await client?.query<Limit>(read))?.rows[0]
        },
        { patienceMs: 9_000 },
      )
      const [outside] = (await pool.query<Limit>(read)).rows
      const isKnown = Number(inside?.version) >= 170_000
      assert.deepEqual([inside?.limit, outside?.limit], isKnown ? ['11s', '0'] : [null, null])
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

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'

import { Client } from 'pg'

import { postgres18, postgresServers } from '../../../../testing/postgres.ts'
import { StoreLedger } from '../../../../testing/store-ledger.ts'
import { parseAmount } from '../../../domain/money.ts'
import { createIdsOfTimes } from '../../../ids.ts'
import { withClient } from './connection.ts'
import { distribute, hashUuid, readDistribution, sharedTables, tenantTables } from './distribution.ts'
import { migrate } from './migrate.ts'
import { openPostgresLedgerStore } from './postgres-ledger-store.ts'

const citus = postgresServers.find(({ isDistributed, missing }) => isDistributed && missing === undefined)
const skip =
  citus === undefined &&
  'no Citus available: PURSER_TEST_POSTGRES must name its coordinator, with PURSER_TEST_POSTGRES_DISTRIBUTE=1'

test('Without Citus nothing is distributed, and the message says so', async (context) => {
  const database = await postgres18.createDatabase()
  context.after(() => database.drop())
  await withClient(database.url, async (client, place) => {
    assert.equal(await readDistribution(client), undefined)
    await assert.rejects(distribute(client, place), {
      name: 'StoreOpenError',
      message: /^The server of postgresql:.* does not have Citus installed, so tables cannot be distributed/,
    })
  })
})

test("The shard of an account follows from PostgreSQL's hash of its id", async (context) => {
  const database = await postgres18.createDatabase()
  context.after(() => database.drop())
  const ids = Array.from({ length: 100 }, () => randomUUID())
  await withClient(database.url, async (client) => {
    const { rows } = await client.query<{ hash: number }>(
      'select uuid_hash(id) as hash from unnest($1::uuid[]) as id',
      [ids],
    )
    assert.deepEqual(
      ids.map((id) => hashUuid(Buffer.from(id.replaceAll('-', ''), 'hex'))),
      rows.map(({ hash }) => hash),
    )
  })
})

test('The guide shows which tables are distributed, and which every machine has', () => {
  const guide = readFileSync(join(import.meta.dirname, '../../../../../docs/guides/scale-out.md'), 'utf8')
  const [, placement = ''] = guide.split('## Data placement')
  const columns = placement.split('\n').filter((line) => line.startsWith('| `') || line.startsWith('|  '))
  const namedIn = (column: number) =>
    columns.flatMap((line) =>
      [...(line.split('|')[column] ?? '').matchAll(/`(\w+)`/g)].map(([, name = '']) => name),
    )
  assert.deepEqual(namedIn(1).toSorted(), [...sharedTables].toSorted())
  assert.deepEqual(namedIn(2).toSorted(), [...tenantTables].toSorted())
})

test(
  "Tenants' tables are distributed together by account_id, once; every machine has a copy of the others",
  { skip },
  async (context) => {
    const { client, url } = await spreadDatabase(context)
    await withClient(url, async (again, place) => assert.deepEqual(await distribute(again, place), []))
    const { rows } = await client.query<{ name: string; column: string | null; together: number }>(`
      select logicalrelid::text as name, colocationid as together,
        case when partmethod = 'h' then column_to_column_name(logicalrelid, partkey) end as column
      from pg_dist_partition`)
    const [spread, everywhere] = [true, false].map((isSpread) =>
      rows.filter(({ column }) => (column === 'account_id') === isSpread),
    )
    assert.deepEqual(spread?.map(({ name }) => name).toSorted(), [...tenantTables].toSorted())
    assert.equal(new Set(spread?.map(({ together }) => together)).size, 1)
    assert.deepEqual(everywhere?.map(({ name }) => name).toSorted(), [...sharedTables].toSorted())
    const { rows: keyless } = await client.query(`
      select logicalrelid from pg_dist_partition
      where not exists (select 1 from pg_index where indrelid = logicalrelid and indisprimary)`)
    assert.deepEqual(keyless, [], 'a shard can move under load only if its rows have a primary key')
  },
)

test('A worker of Citus changes no tables', { skip }, async (context) => {
  const { worker = '', drop } = await citus!.createEmptyDatabase()
  context.after(drop)
  await withClient(worker, async (client, place) => {
    const refusal = {
      name: 'StoreOpenError',
      message: /is a worker of Citus, where tables cannot be changed; use the address of its coordinator/,
    }
    await assert.rejects(migrate(client, place), refusal)
    const { rows } = await client.query(`select to_regclass('purser_schema') as made`)
    assert.deepEqual(rows, [{ made: null }])
  })
})

test(
  'While shards move to another machine under load, no payment is lost or charged twice',
  { skip },
  async (context) => {
    const { client, url } = await spreadDatabase(context)
    const store = await openPostgresLedgerStore({ url, nextId: createIdsOfTimes() })
    const ledger = new StoreLedger({ store, close: () => store.close() })
    const tenants = await Promise.all(Array.from({ length: 8 }, () => ledger.tenant()))
    const budgets = await Promise.all(
      tenants.map(({ sandbox }) => ledger.mandate(sandbox, { maxTotalText: '1000000.00' })),
    )
    const charged = budgets.map(() => 0)
    const moved = new AbortController()
    async function pay(index: number): Promise<void> {
      const caller = tenants[index]?.sandbox ?? assert.fail()
      while (!moved.signal.aborted) {
        const hold = await ledger.hold(budgets[index] ?? assert.fail())
        const outcomes = await Promise.all([ledger.capture(caller, hold), ledger.capture(caller, hold)])
        assert.deepEqual(outcomes.map(({ outcome }) => outcome).toSorted(), ['captured', 'failed'])
        charged[index]! += 1
      }
    }
    const paying = Promise.all([...tenants.keys(), ...tenants.keys()].map(pay))
    const { rows: machines } = await client.query<{ nodename: string; nodeport: number }>(
      `select nodename, nodeport from pg_dist_node where groupid <> 0 order by nodeid`,
    )
    const left = machines[0] ?? assert.fail()
    try {
      await client.query('select citus_drain_node($1, $2)', [left.nodename, left.nodeport])
    } finally {
      moved.abort()
    }
    await paying
    const { rows: places } = await client.query<{ nodeport: number }>(
      `select distinct nodeport from pg_dist_shard_placement join pg_dist_shard using (shardid)
        where logicalrelid = 'payments'::regclass`,
    )
    assert.deepEqual(
      places.map(({ nodeport }) => nodeport),
      machines.slice(1).map(({ nodeport }) => nodeport),
    )
    const sums = await Promise.all(budgets.map((budget) => ledger.sums(budget)))
    assert.deepEqual(
      sums,
      charged.map((count) => ({ spent: `${count}.00`, held: '0.00' })),
    )
    assert.deepEqual(await store.findLedgerFaults(), [])
    assert.ok(
      charged.every((count) => count > 10),
      charged.join(),
    )
    await ledger.close()
  },
)

test(
  'Services at the coordinator and at a worker charge each payment once and exceed no budget, also between machines',
  { skip },
  async (context) => {
    const { url, worker } = await spreadDatabase(context)
    const options = { nextId: createIdsOfTimes() }
    const store = await openPostgresLedgerStore({ url, ...options })
    const other = await openPostgresLedgerStore({ url: worker ?? assert.fail(), ...options })
    const stores = [store, other] as const
    const ledger = new StoreLedger({ store, close: () => store.close() })
    const [seller, ...buyers] = await Promise.all(Array.from({ length: 6 }, () => ledger.tenant()))
    const shop = (seller ?? assert.fail()).sandbox
    await ledger.seller(shop)
    await Promise.all(
      buyers.map(async ({ sandbox }) => {
        const mandate = await ledger.mandate(sandbox, { maxTotalText: '20.00' })
        const holds = Array.from({ length: 40 }, () => ledger.newHold(mandate))
        const decisions = await Promise.all(
          holds.map((hold, index) => (stores[index % 2] ?? assert.fail()).issueProof(hold)),
        )
        const granted = holds.filter((_, index) => decisions[index]?.decision === 'approved')
        assert.equal(granted.length, 20)
        const transactions = await Promise.all(
          granted.map(async (hold) => {
            const outcomes = await Promise.all(
              stores.map((each) => each.capture(ledger.newCapture(shop, hold))),
            )
            assert.deepEqual(outcomes.map(({ outcome }) => outcome).toSorted(), ['captured', 'failed'])
            return outcomes.flatMap((one) => (one.outcome === 'captured' ? one.transactionId : []))
          }),
        )
        for (const transactionId of transactions.flat().slice(0, 5)) {
          const refunds = await Promise.all(
            stores.map((each) => {
              const refundId = ledger.ids.next('transaction')
              const event = () => ledger.newEvent(shop, 'payment.refunded', refundId)
              const amount = { amountText: '1.00', amountMicro: parseAmount('1.00') }
              const { nowMs } = ledger.clock
              const key = { refundId, idempotencyKey: refundId, reason: null, nowMs }
              return each.refund(
                { caller: shop, transactionId, ...key, ...amount },
                {
                  payer: event(),
                  own: event(),
                },
              )
            }),
          )
          assert.deepEqual(refunds.map(({ outcome }) => outcome).toSorted(), ['refunded', 'refused'])
        }
        assert.deepEqual(await ledger.sums(mandate), { spent: '15.00', held: '0.00' })
      }),
    )
    for (const each of stores) assert.deepEqual(await each.findLedgerFaults(), [])
    await other.close()
    await ledger.close()
  },
)

async function spreadDatabase(
  context: TestContext,
): Promise<{ client: Client; url: string; worker: string | undefined }> {
  const database = await (citus ?? assert.fail('Citus is not available')).createEmptyDatabase()
  const client = new Client({ connectionString: database.url })
  await client.connect()
  context.after(async () => {
    await client.end()
    await database.drop()
  })
  await migrate(client, 'the database')
  assert.deepEqual(await distribute(client, 'the database'), [...tenantTables, ...sharedTables])
  return { client, url: database.url, worker: database.worker }
}

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

import { Client } from 'pg'

import { createIds } from '../../src/ids.ts'
import { Ledger } from '../../src/store/ledger/ledger.ts'
import { lock, type RangeRead } from '../../src/store/ledger/operation.ts'
import { releaseExpiredPayments } from '../../src/store/ledger/operations/mandates.ts'
import { createPostgresDriver } from '../../src/store/ledger/postgres/postgres-driver.ts'
import { sqlName, type Table } from '../../src/store/ledger/table.ts'
import { mandates, payments, sessions, type SessionRow } from '../../src/store/ledger/tables.ts'
import { openPool } from '../../src/store/ledger/postgres/connection.ts'
import { LedgerTenant } from '../../testing/ledger-tenant.ts'
import { postgresServers, type PostgresServer } from '../../testing/postgres.ts'
import { openPostgres } from './driver-beds.ts'
import { inTransaction } from '../../testing/transactions.ts'

const rounds = 50

for (const server of postgresServers.filter(({ missing, isDistributed }) => !missing && !isDistributed)) {
  for (const start of ['were never analyzed', 'were analyzed with one row']) {
    test(`${server.name}: kept plans find single rows of a large account when its tables ${start}`, async (context) => {
      const { admin, tenant, close, clock, driver } = await openTenant(context, server)
      const { accountId, environment } = tenant.caller
      const mandateId = await tenant.mandate()
      if (start === 'were analyzed with one row') await admin.query('analyze')
      await useTables()
      await add(admin, { table: payments, key: 'nonce', count: 60_000 })
      await add(admin, { table: mandates, key: 'id', count: 20_000 })
      await add(admin, { table: sessions, key: 'token_hash', count: 20_000 })
      await admin.query('select pg_stat_reset()')
      for (let round = 0; round < rounds; round++) await useTables()
      await close()
      const read = await entriesReadOf(admin)
      assert.deepEqual(Object.keys(read), ['mandates', 'payments', 'sessions'])
      // Each round finds, locks and changes a few rows, and sees some of their dead versions.
      for (const [name, entries] of Object.entries(read)) {
        assert.ok(entries > 0 && entries < 60 * rounds, `${name}: ${entries} index entries`)
      }

      async function useTables() {
        const [captured, expired] = [await tenant.proof(mandateId), await tenant.proof(mandateId)]
        assert.equal((await tenant.capture(captured)).outcome, 'captured')
        clock.ms += 600_000
        await tenant.run(releaseExpiredPayments, {
          accountId,
          mandateId,
          nowMs: clock.ms,
          countId: undefined,
        })
        const session = sessionOf(accountId, clock.ms)
        const range = { kind: 'range', limit: 1, isLocked: true } as const
        const ranges: RangeRead[] = [
          { ...range, table: mandates, where: { accountId, agentId: tenant.agentId }, orderBy: 'id' },
          {
            ...range,
            table: mandates,
            where: { accountId, environment },
            orderBy: 'id',
            after: mandateId,
          },
          { ...range, table: sessions, where: { accountId }, orderBy: 'endsAtMs', upTo: 1 },
          {
            ...range,
            table: sessions,
            where: { accountId, id: session.id },
            orderBy: 'endsAtMs',
            after: clock.ms,
          },
        ]
        const payment = lock(payments, { accountId, nonce: expired.nonce })
        await inTransaction(driver, async ({ read, commit }) => {
          const { found } = await read([payment, ...ranges], { waitsForLocks: true })
          assert.equal(found[0]?.[0]?.['status'], 'expired')
          await commit([{ table: sessions, before: undefined, now: session }])
        })
        await inTransaction(driver, async ({ commit }) => {
          const later = { ...session, usedAtMs: clock.ms + 1 }
          await commit([{ table: sessions, before: session, now: later }])
        })
      }
    })
  }
}

async function openTenant(context: TestContext, server: PostgresServer) {
  const bed = await openPostgres(server)
  context.after(() => bed.close())
  const admin = new Client({ connectionString: bed.url })
  admin.on('error', () => undefined)
  await admin.connect()
  context.after(() => admin.end())
  // All plans belong to one connection.
  const pool = openPool(bed.url, { max: 1 })
  const close = async () => {
    if (!pool.ended) await pool.end()
  }
  context.after(close)
  const driver = createPostgresDriver(pool)
  const stopwatch = { nowMs: () => performance.now(), sleep }
  const ledger = new Ledger({ driver, stopwatch, random: Math.random })
  const clock = { ms: Date.now() }
  const tenant = await LedgerTenant.create({ ledger, ids: createIds(() => clock.ms), clock })
  return { admin, tenant, close, clock, driver }
}

/** Adds copies of a table's row that differ in a key column. */
async function add(
  admin: Client,
  { table, key, count }: { readonly table: Table; readonly key: string; readonly count: number },
): Promise<void> {
  const columns = Object.keys(table.columns).map(sqlName)
  const made = key === 'token_hash' ? "decode(md5(random()::text), 'hex')" : 'gen_random_uuid()'
  const isPlain = table === payments ? 'transaction_id is null' : 'true'
  const copied = columns.map((name) => (name === key ? made : `own.${name}`))
  await admin.query(`
    insert into ${table.name} (${columns.join(', ')})
      select ${copied.join(', ')} from (select * from ${table.name} where ${isPlain} limit 1) own
        cross join generate_series(1, ${count})`)
}

/** How many index entries were read, by table, once the plans' connection has reported it. */
async function entriesReadOf(admin: Client): Promise<Readonly<Record<string, number>>> {
  for (;;) {
    const { rows } = await admin.query<{ name: string; read: string }>(`
      select relname as name, sum(idx_tup_read) as read from pg_stat_user_indexes
      where relname in ('mandates', 'payments', 'sessions') group by 1 having sum(idx_tup_read) > 0 order by 1`)
    if (rows.length === 3) return Object.fromEntries(rows.map(({ name, read }) => [name, Number(read)]))
    await sleep(20)
  }
}

let made = 0

function sessionOf(accountId: string, nowMs: number): SessionRow {
  const tokenHash = Buffer.alloc(16)
  tokenHash.writeInt32BE(++made)
  const use = { createdAtMs: nowMs, usedAtMs: nowMs, endsAtMs: nowMs + 1 }
  return {
    accountId,
    tokenHash,
    id: 'session_01h455vb4pex5vsknk084sn02q',
    kind: 'key',
    role: 'owner',
    keyId: null,
    environment: null,
    ...use,
  }
}

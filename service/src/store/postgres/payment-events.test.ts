import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'

import { Client } from 'pg'

import { postgres18 } from '../../../testing/postgres.ts'
import { StoreLedger, type Tenant } from '../../../testing/store-ledger.ts'
import type { AuditEvent } from '../../domain/records.ts'
import type { Store } from '../store.ts'
import { openPostgresStore } from './postgres-store.ts'
import { migrations } from './schema.ts'

// Decision 55: the event of a payment is its transaction. Databases of schema 2 have such events as records.

test('A database of schema 2 keeps its events, its open proofs can be captured, and its log goes on [decision.25] [decision.55]', async (context) => {
  const { url: now, client } = await openDatabase(context)
  const first = await openPostgresStore({ url: now })
  const ledger = new StoreLedger({ store: first, close: () => first.close() })
  const owner = await ledger.tenant()
  const mandate = await ledger.mandate(owner.sandbox)
  const paidId = await ledger.pay(owner.sandbox, await ledger.hold(mandate))
  const open = await ledger.hold(mandate, '2.00')
  await ledger.agent(owner.sandbox)
  const before = await readLog(first, owner)
  await first.close()
  const { url: old, client: oldClient } = await openDatabase(context)
  await writeAsSchema2(client, oldClient)

  const store = await openPostgresStore({ url: old })
  context.after(() => store.close())
  assert.deepEqual(await readLog(store, owner), before)
  assert.deepEqual(await store.findLedgerFaults(), [])

  ledger.clock.nowMs += 10
  const capture = ledger.newCapture(owner.sandbox, open, { idempotencyKey: 'again' })
  const { transactionId } = capture
  assert.deepEqual(await store.capture(capture), { outcome: 'captured', transactionId })
  const again = { ...capture, transactionId: ledger.ids.next('transaction') }
  assert.deepEqual(await store.capture(again), { outcome: 'replayed', transactionId })
  const [newest, ...older] = await readLog(store, owner)
  assert.equal(newest?.subjectId, transactionId)
  assert.deepEqual(older, before)
  assert.deepEqual(await store.findLedgerFaults(), [])

  await oldClient.query('delete from recorded_events where subject_id = $1', [paidId])
  const faults = await store.findLedgerFaults()
  assert.deepEqual(
    faults.map(({ subjectId, fault }) => [subjectId, fault]),
    [[paidId, 'paid without its audit event']],
  )
})

test('The payments in the log are found by an index of their own, whatever else there is [decision.55]', async (context) => {
  const { url, client } = await openDatabase(context)
  await (await openPostgresStore({ url })).close()
  await client.query(`
    insert into transactions (account_id, id, environment, side, status, agent_id, mandate_id, amount_text, amount_micro,
      currency, resource_url, merchant_domain, created_at_ms)
    select 'acct_1', 'txn_' || n, 'sandbox', 'payer', 'denied', '', '', '1', 1, 'USDC', '', '', n
    from generate_series(1, 5000) n;
    analyze transactions`)
  const { rows } = await client.query<{ 'QUERY PLAN': string }>(
    `explain select * from payment_events
     where account_id = 'acct_1' and environment = 'sandbox' and subject_id < 'txn_9'
     order by subject_id desc limit 50`,
  )
  assert.match(rows.map((row) => row['QUERY PLAN']).join('\n'), /using payments_by_id/)
})

async function readLog(store: Store, { sandbox }: Tenant): Promise<AuditEvent[]> {
  const events: AuditEvent[] = []
  let olderThan: string | undefined
  do {
    const page = await store.listAuditEvents(sandbox, {}, { limit: 2, olderThan })
    events.push(...page.items)
    olderThan = page.next
  } while (olderThan !== undefined)
  return events
}

/** The ledger of a database as schema 2 held it. */
async function writeAsSchema2(from: Client, to: Client): Promise<void> {
  for (const step of migrations.slice(0, 2)) await to.query(step)
  await to.query(`
    create table purser_schema (only_row boolean primary key default true check (only_row), version integer not null);
    insert into purser_schema (version) values (2)`)
  const { rows: tables } = await to.query<{ name: string }>(
    `select tablename as name from pg_tables where schemaname = 'public' and tablename <> 'purser_schema'`,
  )
  for (const { name } of tables) {
    const { rows } = await from.query<{ all: unknown }>(`select json_agg(one)::text as all from ${name} one`)
    await to.query(`insert into ${name} select * from json_populate_recordset(null::${name}, $1)`, [
      rows[0]?.all ?? '[]',
    ])
  }
}

async function openDatabase(context: TestContext): Promise<{ url: string; client: Client }> {
  const { url, drop } = await postgres18.createEmptyDatabase()
  const client = new Client({ connectionString: url })
  await client.connect()
  context.after(async () => {
    await client.end()
    await drop()
  })
  return { url, client }
}

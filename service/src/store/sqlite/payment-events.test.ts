import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'

import Database from 'better-sqlite3'

import type { AuditEvent, Hold, Mandate } from '../../domain/records.ts'
import { shopDomain, StoreLedger, type Tenant } from '../../../testing/store-ledger.ts'
import type { AuditFilter, Store } from '../store.ts'
import { applicationId, migrations } from './schema.ts'
import { openSqliteStore } from './sqlite-store.ts'

// Decision 55: the event of a payment is its transaction. Files of schema 1 have such events as records.

test('A file of schema 1 keeps its events with their ids, its open proofs can be captured, and its log goes on [decision.25] [decision.55]', async (context) => {
  const { ledger, owner, mandate, path } = await begin(context)
  const paidId = await ledger.pay(owner.sandbox, await ledger.hold(mandate))
  const open: Hold = await ledger.hold(mandate, '2.00')
  await ledger.agent(owner.sandbox)
  const before = await readInPages(ledger.store, owner, {}, 100)
  await ledger.store.close()
  const oldPath = join(path, '..', 'old.db')
  writeAsSchema1(path, oldPath)

  const store = openSqliteStore({ path: oldPath })
  context.after(() => store.close())
  const recorded = before.map((event) =>
    event.subjectId === paidId ? { ...event, id: oldId(event) } : event,
  )
  assert.deepEqual(await readInPages(store, owner, {}, 2), recorded)
  assert.deepEqual(await store.findLedgerFaults(), [])
  for (const filter of [{ merchantDomain: shopDomain }, { agentId: mandate.agentId }]) {
    const { items } = await store.listTransactions(owner.sandbox, filter, { limit: 10 })
    assert.deepEqual(
      items.map(({ id }) => id),
      [paidId],
    )
  }

  ledger.clock.nowMs += 10
  const capture = ledger.newCapture(owner.sandbox, open, { idempotencyKey: 'again' })
  const { transactionId } = capture
  assert.deepEqual(await store.capture(capture), { outcome: 'captured', transactionId })
  assert.deepEqual(await store.capture(capture), { outcome: 'replayed', transactionId })
  const [newest, ...older] = await readInPages(store, owner, {}, 2)
  assert.equal(newest?.subjectId, transactionId)
  assert.deepEqual(older, recorded)
  assert.deepEqual(await store.findLedgerFaults(), [])

  const database = new Database(oldPath)
  database.prepare('delete from recorded_events where subject_id = ?').run(paidId)
  database.close()
  const [fault, ...others] = await store.findLedgerFaults()
  assert.deepEqual([fault?.subjectId, fault?.fault], [paidId, 'paid without its audit event'])
  assert.deepEqual(others, [])
})

interface Begun {
  readonly ledger: StoreLedger
  readonly owner: Tenant
  readonly mandate: Mandate
  readonly path: string
}

async function begin(context: TestContext): Promise<Begun> {
  const folder = mkdtempSync(join(tmpdir(), 'purser-test-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'purser.db')
  const store = openSqliteStore({ path })
  context.after(() => store.close())
  const ledger = new StoreLedger({ store, close: () => store.close() })
  const owner = await ledger.tenant()
  return { ledger, owner, mandate: await ledger.mandate(owner.sandbox), path }
}

async function readInPages(
  store: Store,
  { sandbox }: Tenant,
  filter: AuditFilter,
  limit: number,
): Promise<AuditEvent[]> {
  const events: AuditEvent[] = []
  let olderThan: string | undefined
  do {
    const page = await store.listAuditEvents(sandbox, filter, { limit, olderThan })
    assert.ok(page.items.length <= limit)
    events.push(...page.items)
    olderThan = page.next
  } while (olderThan !== undefined)
  return events
}

/** Before the step, the event of a payment had an id of its own, which came after that of the transaction. */
function oldId({ id }: Pick<AuditEvent, 'id'>): string {
  return `${id.slice(0, -1)}z`
}

/** The ledger of a file as schema 1 held it. */
function writeAsSchema1(from: string, to: string): void {
  const database = new Database(to)
  database.function('old_id', (id: string) => oldId({ id }))
  database.exec(migrations[0] ?? assert.fail())
  database.pragma(`application_id = ${applicationId}`)
  database.pragma('user_version = 1')
  database.prepare('attach ? as later').run(from)
  const tables = database
    .prepare<[], string>(
      `select name from main.sqlite_schema where type = 'table' and name not like '%list%'`,
    )
    .pluck()
    .all()
  for (const table of tables) {
    const columns = database
      .prepare<[string], string>(`select name from pragma_table_info(?, 'main')`)
      .pluck()
      .all(table)
      .join(', ')
    database.exec(`insert into main.${table} (${columns}) select ${columns} from later.${table}`)
  }
  database.exec(`
    update main.audit_events set id = old_id(id) where type = 'payment.verified';
    insert into main.transaction_lists select account_id, agent_id, id from main.transactions;
    insert into main.transaction_lists select account_id, mandate_id, id from main.transactions;
    update main.list_progress set listed_up_to = (select max(rowid) from main.transactions)`)
  database.close()
}

test('The payments in the log are found by an index of their own, whatever else there is [decision.55]', () => {
  const database = new Database(':memory:')
  for (const step of migrations) database.exec(step)
  const plan = database
    .prepare<unknown[], { detail: string }>(
      `explain query plan select * from payment_events
       where account_id = ? and environment = ? and subject_id < ? order by subject_id desc limit ?`,
    )
    .all('acct_1', 'sandbox', '\uffff', 50n)
  database.close()
  assert.deepEqual(
    plan.map(({ detail }) => detail),
    ['SEARCH transactions USING INDEX payments_by_id (account_id=? AND id<?)'],
  )
})

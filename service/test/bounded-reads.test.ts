import assert from 'node:assert/strict'
import { test } from 'node:test'

import { createIdsOfTimes } from '../src/ids.ts'
import { openPostgresLedgerStore } from '../src/store/ledger/postgres/postgres-ledger-store.ts'
import type { Store } from '../src/store/store.ts'
import { execute } from '../testing/postgres-databases.ts'
import { postgres18 } from '../testing/postgres.ts'
import { shopDomain, StoreLedger, type OpenedStore } from '../testing/store-ledger.ts'

const manyEntries = 100_000

/**
 * How many rows a read may read, whatever the size of the ledger. A console page reads six for each item that
 * it may show.
 */
const maxRows = 4_000

test(
  'Reads of the console and verify-agent are bounded for an account with 100,000 transactions',
  { skip: postgres18.missing ?? false },
  async (context) => {
    const database = await postgres18.createDatabase()
    context.after(database.drop)
    const open = () => openPostgresLedgerStore({ url: database.url, nextId: createIdsOfTimes() })
    const ledger = new StoreLedger(await openedStore(open))
    const { sandbox: caller } = await ledger.tenant()
    await ledger.seller(caller)
    const mandate = await ledger.mandate(caller)
    const paid = await ledger.pay(caller, await ledger.hold(mandate))
    await ledger.store.evaluate(ledger.newProposal(mandate))
    while (await ledger.store.addUpActivity());
    await ledger.store.close()
    await addEvaluations(database.url, manyEntries)
    const nowMs = ledger.clock.nowMs
    const { agentId, id: mandateId } = mandate
    const page = { limit: 100 }
    const sums = { subjects: [''], fromMs: 0, isTotal: true }
    const reads: Readonly<Record<string, (store: Store) => Promise<unknown>>> = {
      'the sums of everything': (store) => store.readActivity(caller, { ...sums, dimension: 'all' }),
      'the sums of a mandate': (store) =>
        store.readActivity(caller, { ...sums, dimension: 'mandate', subjects: [mandateId] }),
      'the sums of a seller': (store) =>
        store.readActivity(caller, { ...sums, dimension: 'seller_total', subjects: [shopDomain] }),
      'the budgets': (store) => store.readBudgets(caller, nowMs),
      'the newest': (store) => store.newestTransactions(caller, { id: 'txn_0', limit: 100 }),
      'a page of all': (store) => store.listConsoleTransactions(caller, {}, page),
      'a page of an agent': (store) => store.listConsoleTransactions(caller, { agentId }, page),
      'a page of a mandate': (store) => store.listConsoleTransactions(caller, { mandateId }, page),
      'a page of a seller': (store) =>
        store.listConsoleTransactions(caller, { merchantDomain: shopDomain }, page),
      'a page of a seller without transactions': (store) =>
        store.listConsoleTransactions(caller, { merchantDomain: 'other.example' }, page),
      'a page of payments': (store) => store.listConsoleTransactions(caller, { status: 'paid' }, page),
      'a page of denials without matches': (store) =>
        store.listConsoleTransactions(caller, { status: 'denied' }, page),
      'a page of the API': (store) => store.listTransactions(caller, {}, page),
      'a page of the audit log': (store) => store.listAuditEvents(caller, {}, page),
      'the facts of an agent': (store) =>
        store.readAgentFacts({ caller, agentId, mandateId, merchantDomain: 'other.example', nowMs }),
    }
    for (const [what, read] of Object.entries(reads)) {
      const store = await open()
      const before = await rowsRead(database.url)
      await read(store)
      // The server counts a connection's reads when it is closed.
      await store.close()
      const rows = (await rowsRead(database.url)) - before
      assert.ok(rows <= maxRows, `${what}: ${rows} rows`)
    }

    // A page that reads many entries and finds few is short, and the next one continues.
    const store = await open()
    // Its id sorts into the middle of the evaluations.
    ledger.clock.nowMs -= (manyEntries / 2) * 1_000
    const hold = ledger.newHold(mandate)
    assert.deepEqual(await store.issueProof(hold), { decision: 'approved' })
    const capture = ledger.newCapture(caller, hold)
    assert.equal((await store.capture(capture)).outcome, 'captured')
    const earlier = capture.transactionId
    const found: string[] = []
    let olderThan: string | undefined
    do {
      const { items, next } = await store.listAuditEvents(caller, {}, { ...page, olderThan })
      found.push(...items.filter(({ type }) => type === 'payment.verified').map(({ subjectId }) => subjectId))
      assert.ok(next === undefined || olderThan === undefined || next < olderThan)
      olderThan = next
    } while (olderThan !== undefined)
    assert.deepEqual(found, [paid, earlier])
    await store.close()
  },
)

async function openedStore(open: () => Promise<Store>): Promise<OpenedStore> {
  const store = await open()
  return { store, close: () => store.close() }
}

/** Adds copies of the existing evaluation, each a second older than the last. */
async function addEvaluations(url: string, count: number): Promise<void> {
  const id = `(lpad(to_hex(v.created_at_ms - n * 1000), 12, '0') || substr(md5(n::text), 1, 20))::uuid`
  const names = async (table: string) => {
    const columns = await execute<{ name: string }>(
      url,
      `select attname as name from pg_attribute where attrelid = '${table}'::regclass and attnum > 0`,
    )
    return columns.map(({ name }) => name)
  }
  const copied = async (table: string, changed: Readonly<Record<string, string>>) =>
    (await names(table)).map((name) => changed[name] ?? `v.${name}`).join(', ')
  await execute(
    url,
    `insert into entries select ${(await copied('entries', { id, at_ms: 'v.at_ms - n * 1000' })).replaceAll('v.created_at_ms', 'v.at_ms')}
       from entries v cross join generate_series(1, ${count}) n where v.kind = 'approved'`,
  )
  await execute(
    url,
    `insert into evaluations select ${await copied('evaluations', { id, created_at_ms: 'v.created_at_ms - n * 1000' })}
       from evaluations v cross join generate_series(1, ${count}) n`,
  )
  await execute(url, 'vacuum analyze')
}

/** How many rows and index entries the server has read from the ledger's tables. */
async function rowsRead(url: string): Promise<number> {
  const [row] = await execute<{ rows: string }>(
    url,
    `select sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)) + (
        select coalesce(sum(idx_tup_read), 0) from pg_stat_user_indexes) as rows from pg_stat_user_tables`,
  )
  return Number(row?.rows)
}

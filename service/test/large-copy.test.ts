import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

import Database from 'better-sqlite3'

import type { Mandate } from '../src/domain/records.ts'
import { execute } from '../testing/postgres-databases.ts'
import { postgres18 } from '../testing/postgres.ts'
import { StoreLedger } from '../testing/store-ledger.ts'
import { makeFolder, runProcess, spawnProcess } from './process.ts'
import { createIdsOfTimes } from '../src/ids.ts'
import { openSqliteLedgerStore } from '../src/store/ledger/sqlite/sqlite-ledger-store.ts'
import { openPostgresLedgerStore } from '../src/store/ledger/postgres/postgres-ledger-store.ts'

const transactions = 200_000
const mandateCount = 4
/** How many evaluations there are to each payment. */
const evaluations = 3
const killedAfter = 40_000

test(`A copy of ${transactions} transactions that is killed in the middle goes on where it was, and is proved equal [decision.76]`, async (context) => {
  const folder = makeFolder(context)
  const path = join(folder, 'purser.db')
  const mandates = await fillLedger(path)
  const database = await postgres18.createEmptyDatabase()
  context.after(database.drop)
  const order = {
    folder,
    program: 'purser.ts',
    flags: ['migrate', 'copy', '--from', `sqlite:${path}`, '--to', database.url],
  } as const

  const killed = spawnProcess(context, order)
  const startedAtMs = performance.now()
  while ((await readCount(database.url)) < killedAfter) {
    assert.ok(performance.now() - startedAtMs < 120_000, 'the copy goes on')
    await sleep(50)
  }
  assert.equal((await killed.kill('SIGKILL')).signal, 'SIGKILL', killed.stderr())
  const reached = await readCount(database.url)
  assert.ok(reached < transactions, `${reached} were copied`)
  const oldest = await readOldest(database.url)
  await assert.rejects(openPostgresLedgerStore({ url: database.url, nextId: createIdsOfTimes() }), {
    name: 'StoreOpenError',
  })

  const copied = await runProcess(context, order)
  assert.deepEqual([copied.code, copied.signal], [0, null], copied.stderr)
  assert.match(copied.stdout, /^ {2}transactions +200,000 rows {2}agrees$/m)
  assert.doesNotMatch(copied.stdout, /DIFFERS/)
  assert.deepEqual(await readOldest(database.url), oldest, 'what was there is not written again')

  const source = new Database(path, { readonly: true })
  const sums = `select 'of ' || status || ' ' || count(*) || ' ' || sum(amount_micro) as sum from`
  for (const table of ['transactions', 'holds']) {
    const statement = `${sums} ${table} group by status order by status`
    assert.deepEqual(await execute(database.url, statement), source.prepare(statement).all(), table)
  }
  source.close()
  const store = await openPostgresLedgerStore({ url: database.url, nextId: createIdsOfTimes() })
  context.after(() => store.close())
  assert.deepEqual(await Promise.all(mandates.map((mandate) => store.findMandate(mandate))), mandates)
  assert.deepEqual(await store.findLedgerFaults(), [])
})

/** Writes a ledger that adds up: its mandates, each with so many payments and evaluations as the others. */
async function fillLedger(path: string): Promise<Mandate[]> {
  const store = openSqliteLedgerStore({ path, nextId: createIdsOfTimes() })
  const ledger = new StoreLedger({ store, close: () => store.close() })
  const { sandbox: caller } = await ledger.tenant()
  const agent = await ledger.agent(caller)
  const mandates: Mandate[] = []
  while (mandates.length < mandateCount) {
    const mandate = await ledger.mandate(agent, { maxTotalText: '1000000.00' })
    await ledger.pay(caller, await ledger.hold(mandate))
    for (let count = 0; count < evaluations; count++) {
      await store.evaluate(ledger.newProposal(mandate, { amountText: '99.00' }))
    }
    mandates.push(mandate)
  }
  await store.close()

  multiply(path)
  const filled = openSqliteLedgerStore({ path, nextId: createIdsOfTimes() })
  assert.deepEqual(await filled.findLedgerFaults(), [])
  const found = await Promise.all(mandates.map((mandate) => filled.findMandate(mandate)))
  await filled.close()
  return found.map((mandate) => mandate ?? assert.fail('there is no such mandate'))
}

/** Writes each transaction, and each hold, many times over, under ids of their own. */
function multiply(path: string): void {
  const database = new Database(path)
  const copies = transactions / (mandateCount * (1 + evaluations)) - 1
  for (const { table, ids } of [
    { table: 'transactions', ids: ['id', 'nonce'] },
    { table: 'holds', ids: ['nonce', 'transaction_id'] },
  ]) {
    const columns = database
      .prepare<[string], string>('select name from pragma_table_info(?)')
      .pluck()
      .all(table)
    const values = columns.map((name) => (ids.includes(name) ? `${name} || printf('_%06d', n)` : name))
    database.exec(`
      with recursive turn (n) as (select 1 union all select n + 1 from turn where n < ${copies})
      insert into ${table} (${columns.join(', ')}) select ${values.join(', ')} from ${table} cross join turn`)
  }
  database.exec(`update mandate_sums set spent_micro = (
    select sum(t.amount_micro) from transactions t join mandate_terms m on m.id = t.mandate_id
    where m.no = mandate_sums.no and t.status = 'paid')`)
  database.close()
}

/** How many transactions have been copied. */
async function readCount(url: string): Promise<number> {
  const [found] = await execute<{ oid: string | null }>(url, `select to_regclass('transactions') as oid`)
  if (found?.oid == null) return 0
  const [row] = await execute<{ count: number }>(url, 'select count(*)::int as count from transactions')
  return row?.count ?? 0
}

/** The transaction that was copied first, and by which write. */
function readOldest(url: string): Promise<unknown[]> {
  return execute(url, 'select id, xmin from transactions order by account_id, id limit 1')
}

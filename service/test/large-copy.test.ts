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

const transactions = 40_000
const mandateCount = 4
/** How many evaluations there are per payment. */
const evaluations = 3
const killedAfter = 8_000

test(`A copy of ${transactions} transactions that is killed in the middle continues where it was, and is verified`, async (context) => {
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
    assert.ok(performance.now() - startedAtMs < 120_000, 'the copy continues')
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
  assert.match(copied.stdout, /^ {2}entries +40,000 rows {2}agrees$/m)
  assert.doesNotMatch(copied.stdout, /DIFFERS/)
  assert.deepEqual(await readOldest(database.url), oldest, 'existing rows are not written again')

  const source = new Database(path, { readonly: true })
  for (const [table, kind] of [
    ['entries', 'kind'],
    ['payments', 'status'],
  ]) {
    const sums = `select 'of ' || ${kind} || ' ' || count(*) || ' ' || sum(amount_micro) as sum from`
    const statement = `${sums} ${table} group by ${kind} order by ${kind}`
    assert.deepEqual(await execute(database.url, statement), source.prepare(statement).all(), table)
  }
  source.close()
  const store = await openPostgresLedgerStore({ url: database.url, nextId: createIdsOfTimes() })
  context.after(() => store.close())
  assert.deepEqual(await Promise.all(mandates.map((mandate) => store.findMandate(mandate))), mandates)
  assert.deepEqual(await store.findLedgerFaults(), [])
})

/** Writes a consistent ledger: its mandates, each with the same number of payments and evaluations. */
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

/** Writes copies of each payment and each evaluation, with their entries, under new ids. */
function multiply(path: string): void {
  const database = new Database(path)
  const copies = transactions / (mandateCount * (1 + evaluations)) - 1
  database.exec(`
    create temp table turns as
      with recursive turn (n) as (select 1 union all select n + 1 from turn where n < ${copies}) select n from turn;
    create temp table copies as
      select e.id, e.nonce, randomblob(16) as new_id, iif(e.nonce is null, null, randomblob(16)) as new_nonce
      from entries e cross join turns`)
  insertCopies('payments', 'nonce', { nonce: 'c.new_nonce', transaction_id: 'c.new_id' })
  insertCopies('evaluations', 'id', { id: 'c.new_id' })
  insertCopies('entries', 'id', { id: 'c.new_id', nonce: 'c.new_nonce' })
  database.exec(`update mandates_sums set spent_micro = (
    select sum(p.amount_micro) from payments p join mandates m on m.account_id = p.account_id and m.id = p.mandate_id
    where m.no = mandates_sums.no and p.status = 'captured')`)
  database.close()

  function insertCopies(table: string, key: string, own: Readonly<Record<string, string>>): void {
    const columns = database
      .prepare<[string], string>("select name from pragma_table_info(?) where name not in ('no', 'blank')")
      .pluck()
      .all(table)
    const values = columns.map((name) => own[name] ?? `t.${name}`)
    database.exec(`insert into ${table} (${columns.join(', ')})
      select ${values.join(', ')} from ${table} t join copies c on c.${key} = t.${key}`)
  }
}

/** How many transactions have been copied. */
async function readCount(url: string): Promise<number> {
  const [found] = await execute<{ oid: string | null }>(url, `select to_regclass('entries') as oid`)
  if (found?.oid == null) return 0
  const [row] = await execute<{ count: number }>(url, 'select count(*)::int as count from entries')
  return row?.count ?? 0
}

/** The first copied transaction, and its write. */
function readOldest(url: string): Promise<unknown[]> {
  return execute(url, 'select id, xmin from entries order by account_id, id limit 1')
}

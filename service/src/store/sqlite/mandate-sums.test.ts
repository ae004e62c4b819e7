import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'

import Database from 'better-sqlite3'

import { StoreLedger } from '../../../testing/store-ledger.ts'
import { openSqliteFile } from '../ledger/sqlite/open.ts'
import { applicationId, migrations } from './schema.ts'
import { openSqliteStore } from './sqlite-store.ts'

// Decision 54: `mandates` is a view of `mandate_terms` and `mandate_sums`. Files of schema 3 have a table of that name.

const schemaBefore = 3

const columns =
  'account_id, id, environment, agent_id, purpose, max_total_text, max_total_micro, max_per_transaction_text, max_per_transaction_micro, currency, allowed_sellers, allowed_categories, expires_at_text, expires_at_ms, status, spent_micro, held_micro, created_at_ms, updated_at_ms, stopped_by'

test('The mandates of a file of schema 3 are the same afterwards, column for column [decision.54]', (context) => {
  const path = newPath(context)
  const before = new Database(path)
  for (const step of migrations.slice(0, schemaBefore)) before.exec(step)
  before.pragma(`application_id = ${applicationId}`)
  before.pragma(`user_version = ${schemaBefore}`)
  const insert = before.prepare(
    `insert into mandates (${columns}) values (${columns.replaceAll(/\w+/g, '?')})`,
  )
  const terms = ['agent_1', 'Buy data', '5.00', 5_000_000, '1.00', 1_000_000, 'USDC', '["*"]', '["data"]']
  const rows = [
    ['acct_1', 'mandate_3', 'sandbox', ...terms, '2099-01-01', 3, 'active', 2_000_000, 3_000_000, 1, 2, null],
    ['acct_1', 'mandate_1', 'production', ...terms, '2098-01-01', 4, 'paused', 1, 0, 3, 4, 'stop_1'],
    ['acct_2', 'mandate_2', 'sandbox', ...terms, '2097-01-01', 5, 'revoked', 0, 0, 5, 6, null],
  ]
  for (const row of rows) insert.run(...row)
  // Its rows were numbered with gaps.
  before.exec("delete from mandates where id = 'mandate_1'")
  insert.run(...(rows[1] ?? assert.fail()))
  const mandates = before.prepare('select * from mandates order by id').all()
  assert.equal(mandates.length, rows.length)
  before.close()

  const { database, close } = openSqliteFile(path)
  context.after(close)
  database.defaultSafeIntegers(false)
  assert.deepEqual(database.prepare('select * from mandates order by id').all(), mandates)
})

test('Payments and holds find their sums again after the file was made anew by a vacuum [decision.54]', async (context) => {
  const path = newPath(context)
  const store = openSqliteStore({ path })
  const ledger = new StoreLedger({ store, close: () => store.close() })
  const owner = await ledger.tenant()
  const [gone, mandate] = [await ledger.mandate(owner.sandbox), await ledger.mandate(owner.sandbox)]
  await ledger.pay(owner.sandbox, await ledger.hold(mandate, '2.00'))
  const open = await ledger.hold(mandate, '3.00')
  await store.close()

  const byHand = new Database(path)
  // With a gap before it, a row without a number of its own would be given another.
  byHand
    .prepare('delete from mandate_sums where no = (select no from mandate_terms where id = ?)')
    .run(gone.id)
  byHand.prepare('delete from mandate_terms where id = ?').run(gone.id)
  byHand.exec('vacuum')
  byHand.close()

  const again = openSqliteStore({ path })
  context.after(() => again.close())
  const capture = ledger.newCapture(owner.sandbox, open)
  assert.equal((await again.capture(capture)).outcome, 'captured')
  const { spentMicro, heldMicro } = (await again.findMandate(mandate)) ?? assert.fail()
  assert.deepEqual([spentMicro, heldMicro], [5_000_000n, 0n])
  assert.deepEqual(await again.findLedgerFaults(), [])
})

test('Nobody writes one half of a mandate by mistake: the view of both takes nothing [decision.54]', (context) => {
  const { database, close } = openSqliteFile(newPath(context))
  context.after(close)
  for (const statement of ['update mandates set spent_micro = 1', 'delete from mandates']) {
    assert.throws(() => database.exec(statement), /cannot modify mandates because it is a view/)
  }
  assert.deepEqual(database.prepare("select name from sqlite_schema where type = 'trigger'").all(), [])
})

function newPath(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'purser-test-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'purser.db')
}

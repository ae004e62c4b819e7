import assert from 'node:assert/strict'
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test, type TestContext } from 'node:test'

import Database from 'better-sqlite3'

import { StoreLedger } from '../../../../testing/store-ledger.ts'
import type { Mandate } from '../../../domain/records.ts'
import { idBytes } from '../../../domain/type-id.ts'
import { createIdsOfTimes } from '../../../ids.ts'
import { openSqliteLedgerStore } from './sqlite-ledger-store.ts'
import type { Store } from '../../store.ts'

// Writes that bypass the service, which the database refuses.

/** The sums of a mandate. */
const ofMandate = 'no = (select no from mandates where id = ?)'

const template = join(folderFor({ after }), 'purser.db')
const mandate = await writeLedger(template)

test('A ledger that only the service wrote has no faults', async (context) => {
  assert.deepEqual(await findFaults(copyFor(context)), [])
})

const refusals: readonly (readonly [name: string, statement: string])[] = [
  ['an overspend', 'update mandates_sums set spent_micro = max_total_micro - held_micro + 1'],
  ['holds beyond the budget', 'update mandates_sums set held_micro = max_total_micro - spent_micro + 1'],
  ['a total below what is spent and held', 'update mandates_sums set max_total_micro = spent_micro'],
  ['authorizations beyond the budget', 'update mandates_sums set authorized_micro = max_total_micro'],
  ['negative spending', 'update mandates_sums set spent_micro = -1'],
  ['negative holds', 'update mandates_sums set held_micro = -1'],
  ['negative authorizations', 'update mandates_sums set authorized_micro = -1'],
  ['a hold of zero', 'update payments set amount_micro = 0'],
  ['a captured proof without its transaction', 'update payments set transaction_id = null'],
  ['an open proof with a transaction', "update payments set status = 'open'"],
  ['an unknown status of a proof', "update payments set status = 'lost'"],
  ['an unknown status of a mandate', "update mandates set status = 'frozen'"],
  ['another currency', "update mandates set currency = 'EURC'"],
  ['a third environment', "update mandates set environment = 'staging'"],
  ['an amount that is not an integer', 'update mandates_sums set spent_micro = 1.5'],
  ['an amount that is text', "update mandates_sums set spent_micro = 'much'"],
  ['a missing amount', 'update mandates_sums set spent_micro = null'],
  ["an agent's key without its agent", "update api_keys set role = 'agent'"],
]
for (const [name, statement] of refusals) {
  test(`The database itself refuses ${name} and stays unchanged [limits.total]`, async (context) => {
    const path = copyFor(context)
    byHand(path, (db) => {
      assert.throws(
        () => db.exec(statement),
        (error) => error instanceof Database.SqliteError && /^SQLITE_(CONSTRAINT|MISMATCH)/.test(error.code),
      )
    })
    assert.deepEqual(await findFaults(path), [])
  })
}

test('The database accepts spending up to the last millionth [limits.total]', (context) => {
  byHand(copyFor(context), (db) => {
    const { changes } = db
      .prepare(`update mandates_sums set spent_micro = max_total_micro - held_micro where ${ofMandate}`)
      .run(idBytes('mandate', mandate.id))
    assert.equal(changes, 1)
  })
})

/** A ledger with a budget of 100.00, of which 5.00 is spent and 1.00 is held. */
async function writeLedger(path: string): Promise<Mandate> {
  const store = openAt(path)
  const ledger = new StoreLedger({ store, close: () => store.close() })
  const payer = await ledger.tenant()
  const shop = await ledger.tenant()
  await ledger.seller(shop.sandbox)
  const made = await ledger.mandate(payer.sandbox)
  await ledger.pay(shop.sandbox, await ledger.hold(made, '5.00'))
  await ledger.hold(made, '1.00')
  await ledger.close()
  return made
}

/** A ledger for this test only. */
function copyFor(context: TestContext): string {
  const path = join(folderFor(context), 'purser.db')
  copyFileSync(template, path)
  return path
}

function folderFor(context: { readonly after: (clean: () => void) => void }): string {
  const folder = mkdtempSync(join(tmpdir(), 'purser-test-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function byHand(path: string, write: (db: Database.Database) => void): void {
  const db = new Database(path)
  try {
    write(db)
  } finally {
    db.close()
  }
}

async function findFaults(path: string) {
  const store = openAt(path)
  try {
    return await store.findLedgerFaults()
  } finally {
    await store.close()
  }
}

function openAt(path: string): Store {
  return openSqliteLedgerStore({ path, nextId: createIdsOfTimes() })
}

import assert from 'node:assert/strict'
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test, type TestContext } from 'node:test'

import Database from 'better-sqlite3'

import type { Hold, Mandate } from '../../domain/records.ts'
import { StoreLedger } from '../../../testing/store-ledger.ts'
import { transactionColumns } from '../rows.ts'
import { openSqliteStore } from './sqlite-store.ts'

// What is written past the service, by hand: the database refuses it, or the ledger's own audit finds it.

interface Written {
  readonly mandate: Mandate
  /** 2.00 paid to a seller of the payer's own account. */
  readonly paidId: string
  /** 3.00 paid to a seller of another account. */
  readonly crossPaidId: string
  readonly captured: Hold
  /** 1.00 held. */
  readonly open: Hold
  readonly shopAccountId: string
}

interface Fault {
  readonly name: string
  readonly plant: (written: Written) => readonly [statement: string, ...values: unknown[]]
  readonly found: (written: Written) => readonly (readonly [subjectId: string, fault: string])[]
}

const spentDiffers = 'spent differs from the sum of its paid transactions'
const heldDiffers = 'held differs from the sum of its open holds'

/** What is different in a payee's copy of a payment; the first value goes to the first mark. */
const payeesOwn: Partial<Record<string, string>> = {
  account_id: '?',
  side: "'payee'",
  seller_account_id: '?',
}

/** The sums of a mandate; the first value goes to the first mark. */
const ofMandate = 'no = (select no from mandate_terms where id = ?)'

const faults: readonly Fault[] = [
  {
    name: 'a millionth more spent than was paid',
    plant: ({ mandate }) => [
      `update mandate_sums set spent_micro = spent_micro + 1 where ${ofMandate}`,
      mandate.id,
    ],
    found: ({ mandate }) => [[mandate.id, spentDiffers]],
  },
  {
    name: 'a millionth less spent than was paid',
    plant: ({ mandate }) => [
      `update mandate_sums set spent_micro = spent_micro - 1 where ${ofMandate}`,
      mandate.id,
    ],
    found: ({ mandate }) => [[mandate.id, spentDiffers]],
  },
  {
    name: 'a millionth more held than is open',
    plant: ({ mandate }) => [
      `update mandate_sums set held_micro = held_micro + 1 where ${ofMandate}`,
      mandate.id,
    ],
    found: ({ mandate }) => [[mandate.id, heldDiffers]],
  },
  {
    name: 'a hold that ended and gave nothing back',
    plant: ({ open }) => ["update holds set status = 'expired' where nonce = ?", open.nonce],
    found: ({ mandate }) => [[mandate.id, heldDiffers]],
  },
  {
    name: 'a total budget below what is spent and held',
    plant: ({ mandate }) => ['update mandate_terms set max_total_micro = 5999999 where id = ?', mandate.id],
    found: ({ mandate }) => [[mandate.id, 'spent and held exceed the total budget']],
  },
  {
    name: 'a captured proof whose paid transaction is gone',
    plant: ({ paidId }) => ['delete from transactions where id = ?', paidId],
    found: ({ mandate, captured }) => [
      [mandate.id, spentDiffers],
      [captured.nonce, 'captured without its paid transaction'],
    ],
  },
  {
    name: 'a paid transaction of another amount than its proof',
    plant: ({ paidId }) => ['update transactions set amount_micro = amount_micro + 1 where id = ?', paidId],
    found: ({ mandate, captured }) => [
      [mandate.id, spentDiffers],
      [captured.nonce, 'captured without its paid transaction'],
    ],
  },
  {
    name: 'a paid transaction whose proof is gone',
    plant: ({ captured }) => ['delete from holds where nonce = ?', captured.nonce],
    found: ({ paidId }) => [[paidId, 'paid without its captured hold']],
  },
  {
    name: 'a proof that was opened again after it was paid',
    plant: ({ captured }) => [
      "update holds set status = 'open', transaction_id = null where nonce = ?",
      captured.nonce,
    ],
    found: ({ mandate, paidId }) => [
      [mandate.id, heldDiffers],
      [paidId, 'paid without its captured hold'],
    ],
  },
  {
    name: 'a payment whose audit event is gone',
    plant: ({ paidId }) => ['update transactions set collected_by = null where id = ?', paidId],
    found: ({ paidId }) => [[paidId, 'paid without its audit event']],
  },
  {
    name: "a payment whose copy in the payee's account is gone",
    plant: ({ crossPaidId }) => ["delete from transactions where id = ? and side = 'payee'", crossPaidId],
    found: ({ crossPaidId }) => [[crossPaidId, 'paid to another account without its copy there']],
  },
  {
    name: "a payee's copy of another amount",
    plant: ({ crossPaidId }) => [
      "update transactions set amount_micro = amount_micro - 1 where id = ? and side = 'payee'",
      crossPaidId,
    ],
    found: ({ crossPaidId }) => [[crossPaidId, 'paid to another account without its copy there']],
  },
  {
    name: "a payee's copy of a payment that never was",
    plant: ({ paidId, shopAccountId }) => [
      `insert into transactions (${transactionColumns.join(', ')})
       select ${transactionColumns.map((column) => payeesOwn[column] ?? column).join(', ')}
       from transactions where id = ?`,
      shopAccountId,
      shopAccountId,
      paidId,
    ],
    found: ({ paidId }) => [[paidId, 'received without the payment that it is a copy of']],
  },
]

const template = join(folderFor({ after }), 'purser.db')
const written = await writeLedger(template)

test('A ledger that only the service wrote has no faults [decision.9]', async (context) => {
  assert.deepEqual(await findFaults(copyFor(context)), [])
})

for (const { name, plant, found } of faults) {
  test(`A planted fault is found: ${name} [decision.9] [decision.25]`, async (context) => {
    const path = copyFor(context)
    const [statement, ...values] = plant(written)
    byHand(path, (db) => {
      db.pragma('ignore_check_constraints = on')
      assert.equal(db.prepare(statement).run(...values).changes, 1)
    })
    assert.deepEqual(await findFaults(path), sorted(found(written)))
  })
}

const refusals: readonly (readonly [name: string, statement: string])[] = [
  ['an overspend', 'update mandate_sums set spent_micro = max_total_micro - held_micro + 1'],
  ['holds beyond the budget', 'update mandate_sums set held_micro = max_total_micro - spent_micro + 1'],
  ['a total below what is spent and held', 'update mandate_sums set max_total_micro = spent_micro'],
  ['negative spending', 'update mandate_sums set spent_micro = -1'],
  ['negative holds', 'update mandate_sums set held_micro = -1'],
  ['a hold of nothing', 'update holds set amount_micro = 0'],
  ['a captured proof without its transaction', 'update holds set transaction_id = null'],
  ['an open proof with a transaction', "update holds set status = 'open'"],
  ['an unknown status of a proof', "update holds set status = 'lost'"],
  ['an unknown status of a mandate', "update mandate_terms set status = 'frozen'"],
  ['another currency', "update mandate_terms set currency = 'EURC'"],
  ['a third environment', "update mandate_terms set environment = 'staging'"],
  ['an amount that is no whole number', 'update mandate_sums set spent_micro = 1.5'],
  ['an amount that is text', "update mandate_sums set spent_micro = 'much'"],
  ['an amount that is missing', 'update mandate_sums set spent_micro = null'],
  ["an agent's key without its agent", "update api_keys set role = 'agent'"],
]
for (const [name, statement] of refusals) {
  test(`The database itself refuses ${name}, and stays as it was [limits.total] [decision.7]`, async (context) => {
    const path = copyFor(context)
    byHand(path, (db) => {
      assert.throws(
        () => db.exec(statement),
        (error) => error instanceof Database.SqliteError && error.code.startsWith('SQLITE_CONSTRAINT'),
      )
    })
    assert.deepEqual(await findFaults(path), [])
  })
}

test('The database takes a spending up to the last millionth [limits.total]', (context) => {
  byHand(copyFor(context), (db) => {
    const { changes } = db
      .prepare(`update mandate_sums set spent_micro = max_total_micro - held_micro where ${ofMandate}`)
      .run(written.mandate.id)
    assert.equal(changes, 1)
  })
})

/** A ledger of 100.00, of which 5.00 are spent and 1.00 is held. */
async function writeLedger(path: string): Promise<Written> {
  const store = openSqliteStore({ path })
  const ledger = new StoreLedger({ store, close: () => store.close() })
  const payer = await ledger.tenant()
  const shop = await ledger.tenant()
  await ledger.seller(payer.sandbox, 'own.example')
  await ledger.seller(shop.sandbox)
  const mandate = await ledger.mandate(payer.sandbox, { allowedSellers: ['*'] })
  const captured = await ledger.hold(mandate, '2.00')
  const paidId = await ledger.pay(payer.sandbox, captured, { merchantDomain: 'own.example' })
  const crossPaidId = await ledger.pay(shop.sandbox, await ledger.hold(mandate, '3.00'))
  const open = await ledger.hold(mandate, '1.00')
  await ledger.close()
  return { mandate, paidId, crossPaidId, captured, open, shopAccountId: shop.account.id }
}

/** A ledger of the test's own, to do with as it likes. */
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

async function findFaults(path: string): Promise<(readonly [string, string])[]> {
  const store = openSqliteStore({ path })
  try {
    const found = await store.findLedgerFaults()
    return sorted(found.map(({ subjectId, fault }) => [subjectId, fault]))
  } finally {
    await store.close()
  }
}

function sorted(found: readonly (readonly [string, string])[]): (readonly [string, string])[] {
  return found.toSorted(([, left], [, right]) => left.localeCompare(right))
}

import assert from 'node:assert/strict'
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test, type TestContext } from 'node:test'

import Database from 'better-sqlite3'

import { StoreLedger } from '../../../../testing/store-ledger.ts'
import type { Hold, Mandate } from '../../../domain/records.ts'
import { idBytes, type IdKind } from '../../../domain/type-id.ts'
import { createIdsOfTimes } from '../../../ids.ts'
import { openSqliteLedgerStore } from '../sqlite/sqlite-ledger-store.ts'
import type { LedgerFault, Store } from '../../store.ts'

// What is written past the service, by hand: the database refuses it, or the ledger's own audit finds it.

interface Written {
  readonly mandate: Mandate
  /** 2.00 paid to a seller of the payer's own account. */
  readonly paidId: string
  /** 3.00 paid to a seller of another account. */
  readonly crossPaidId: string
  readonly captured: Hold
  readonly crossPaid: Hold
  readonly evaluationId: string
  readonly keyId: string
  /** 1.00 held. */
  readonly open: Hold
  readonly shopAccountId: string
}

interface Fault {
  readonly name: string
  readonly plant: (written: Written) => readonly [statement: string, ...values: unknown[]]
  readonly found: (written: Written) => readonly (readonly [subjectId: string, fault: string])[]
}

const spentDiffers = 'spent differs from the sum of its captured payments'
const heldDiffers = 'held differs from the sum of its open payments'
const countDiffers = 'it counts other open payments than there are'
const noPaidEntry = 'captured without its entry'
const noReceivedEntry = 'captured for another account without its entry there'
const noPayment = 'an entry without its captured payment'

/** The sums of a mandate. */
const ofMandate = 'no = (select no from mandates where id = ?)'

const faults: readonly Fault[] = [
  ...[1, -1].map((more) => ({
    name: `a millionth ${more > 0 ? 'more' : 'less'} spent than was paid`,
    plant: ({ mandate }: Written) =>
      [
        `update mandates_sums set spent_micro = spent_micro + ${more} where ${ofMandate}`,
        bytes('mandate', mandate.id),
      ] as const,
    found: ({ mandate }: Written) => [[mandate.id, spentDiffers] as const],
  })),
  {
    name: 'a millionth more held than is open',
    plant: ({ mandate }) => [
      `update mandates_sums set held_micro = held_micro + 1 where ${ofMandate}`,
      bytes('mandate', mandate.id),
    ],
    found: ({ mandate }) => [[mandate.id, heldDiffers]],
  },
  {
    name: 'a proof that ended and gave nothing back',
    plant: ({ open }) => [
      "update payments set status = 'expired' where nonce = ?",
      bytes('nonce', open.nonce),
    ],
    found: ({ mandate }) => [
      [mandate.id, heldDiffers],
      [mandate.id, countDiffers],
    ],
  },
  {
    name: 'a total budget below what is spent and held',
    plant: ({ mandate }) => [
      `update mandates_sums set max_total_micro = 5999999 where ${ofMandate}`,
      bytes('mandate', mandate.id),
    ],
    found: ({ mandate }) => [[mandate.id, 'spent and held exceed the total budget']],
  },
  {
    name: 'a mandate that is not found by its id',
    plant: ({ mandate }) => [
      'delete from mandate_accounts where mandate_id = ?',
      bytes('mandate', mandate.id),
    ],
    found: ({ mandate }) => [[mandate.id, 'it is not found by its id']],
  },
  {
    name: 'a captured proof whose entry is gone',
    plant: ({ paidId }) => ['delete from entries where id = ?', bytes('transaction', paidId)],
    found: ({ captured }) => [[captured.nonce, noPaidEntry]],
  },
  {
    name: 'an entry of another amount than its proof',
    plant: ({ paidId }) => [
      'update entries set amount_micro = amount_micro + 1 where id = ?',
      bytes('transaction', paidId),
    ],
    found: ({ captured }) => [[captured.nonce, noPaidEntry]],
  },
  {
    name: 'an entry whose proof is gone',
    plant: ({ captured }) => ['delete from payments where nonce = ?', bytes('nonce', captured.nonce)],
    found: ({ mandate, paidId }) => [
      [mandate.id, spentDiffers],
      [paidId, noPayment],
    ],
  },
  {
    name: 'a proof that was opened again after it was paid',
    plant: ({ captured }) => [
      "update payments set status = 'open', transaction_id = null where nonce = ?",
      bytes('nonce', captured.nonce),
    ],
    found: ({ mandate, paidId }) => [
      [mandate.id, spentDiffers],
      [mandate.id, heldDiffers],
      [mandate.id, countDiffers],
      [paidId, noPayment],
    ],
  },
  {
    name: "a payment whose entry in the payee's account is gone",
    plant: ({ crossPaidId }) => [
      "delete from entries where id = ? and kind = 'received'",
      bytes('transaction', crossPaidId),
    ],
    found: ({ crossPaid }) => [[crossPaid.nonce, noReceivedEntry]],
  },
  {
    name: "a payee's entry of another amount",
    plant: ({ crossPaidId }) => [
      "update entries set amount_micro = amount_micro - 1 where id = ? and kind = 'received'",
      bytes('transaction', crossPaidId),
    ],
    found: ({ crossPaid }) => [[crossPaid.nonce, noReceivedEntry]],
  },
  {
    name: "a payee's entry of a payment that never was",
    plant: ({ paidId, shopAccountId }) => [
      `insert into entries (account_id, id, environment, kind, payer_id, nonce, mandate_id, amount_micro, count, at_ms)
       select ?, id, environment, 'received', payer_id, nonce, mandate_id, amount_micro, count, at_ms
       from entries where id = ?`,
      bytes('account', shopAccountId),
      bytes('transaction', paidId),
    ],
    found: ({ paidId }) => [[paidId, noPayment]],
  },
  {
    name: 'an evaluation whose entry is gone',
    plant: ({ evaluationId }) => ['delete from entries where id = ?', bytes('transaction', evaluationId)],
    found: ({ evaluationId }) => [[evaluationId, 'an evaluation without its entry']],
  },
  {
    name: 'an entry whose evaluation is gone',
    plant: ({ evaluationId }) => ['delete from evaluations where id = ?', bytes('transaction', evaluationId)],
    found: ({ evaluationId }) => [[evaluationId, 'an entry without its evaluation']],
  },
  {
    name: 'an entry of a denial whose evaluation was approved',
    plant: ({ evaluationId }) => [
      "update entries set kind = 'denied' where id = ?",
      bytes('transaction', evaluationId),
    ],
    found: ({ evaluationId }) => [[evaluationId, 'an entry without its evaluation']],
  },
  {
    name: 'an account that counts a key too many',
    plant: ({ shopAccountId }) => [
      'update accounts set owner_keys = owner_keys + 1 where id = ?',
      bytes('account', shopAccountId),
    ],
    found: ({ shopAccountId }) => [[shopAccountId, 'it counts other keys of owners than work']],
  },
  {
    name: 'a key that is not found by its hash',
    plant: ({ keyId }) => ['delete from key_hashes where key_id = ?', bytes('apiKey', keyId)],
    found: ({ keyId }) => [[keyId, 'a key that is not found by its hash']],
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
  ['an overspend', 'update mandates_sums set spent_micro = max_total_micro - held_micro + 1'],
  ['holds beyond the budget', 'update mandates_sums set held_micro = max_total_micro - spent_micro + 1'],
  ['a total below what is spent and held', 'update mandates_sums set max_total_micro = spent_micro'],
  ['negative spending', 'update mandates_sums set spent_micro = -1'],
  ['negative holds', 'update mandates_sums set held_micro = -1'],
  ['a hold of nothing', 'update payments set amount_micro = 0'],
  ['a captured proof without its transaction', 'update payments set transaction_id = null'],
  ['an open proof with a transaction', "update payments set status = 'open'"],
  ['an unknown status of a proof', "update payments set status = 'lost'"],
  ['an unknown status of a mandate', "update mandates set status = 'frozen'"],
  ['another currency', "update mandates set currency = 'EURC'"],
  ['a third environment', "update mandates set environment = 'staging'"],
  ['an amount that is no whole number', 'update mandates_sums set spent_micro = 1.5'],
  ['an amount that is text', "update mandates_sums set spent_micro = 'much'"],
  ['an amount that is missing', 'update mandates_sums set spent_micro = null'],
  ["an agent's key without its agent", "update api_keys set role = 'agent'"],
]
for (const [name, statement] of refusals) {
  test(`The database itself refuses ${name}, and stays as it was [limits.total] [decision.7]`, async (context) => {
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

test('The database takes a spending up to the last millionth [limits.total] [decision.54]', (context) => {
  byHand(copyFor(context), (db) => {
    const { changes } = db
      .prepare(`update mandates_sums set spent_micro = max_total_micro - held_micro where ${ofMandate}`)
      .run(bytes('mandate', written.mandate.id))
    assert.equal(changes, 1)
  })
})

/** A ledger of 100.00, of which 5.00 are spent and 1.00 is held. */
async function writeLedger(path: string): Promise<Written> {
  const store = openAt(path)
  const ledger = new StoreLedger({ store, close: () => store.close() })
  const payer = await ledger.tenant()
  const shop = await ledger.tenant()
  await ledger.seller(payer.sandbox, 'own.example')
  await ledger.seller(shop.sandbox)
  const mandate = await ledger.mandate(payer.sandbox, { allowedSellers: ['*'] })
  const captured = await ledger.hold(mandate, '2.00')
  const paidId = await ledger.pay(payer.sandbox, captured, { merchantDomain: 'own.example' })
  const crossPaid = await ledger.hold(mandate, '3.00')
  const crossPaidId = await ledger.pay(shop.sandbox, crossPaid)
  const open = await ledger.hold(mandate, '1.00')
  const proposal = ledger.newProposal(mandate)
  assert.deepEqual(await store.evaluate(proposal), { decision: 'approved' })
  await ledger.close()
  const paid = { paidId, crossPaidId, captured, crossPaid, open }
  const { id: shopAccountId } = shop.account
  return { mandate, ...paid, evaluationId: proposal.id, keyId: payer.sandbox.keyId, shopAccountId }
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
  const store = openAt(path)
  try {
    const found = await store.findLedgerFaults()
    return sorted(found.map(({ subjectId, fault }: LedgerFault) => [subjectId, fault]))
  } finally {
    await store.close()
  }
}

function sorted(found: readonly (readonly [string, string])[]): (readonly [string, string])[] {
  return found.toSorted(([, left], [, right]) => left.localeCompare(right))
}

function openAt(path: string): Store {
  return openSqliteLedgerStore({ path, nextId: createIdsOfTimes() })
}

function bytes(kind: IdKind | 'nonce', id: string): Buffer {
  return idBytes(kind, id) ?? assert.fail(`${id} is no id`)
}

import assert from 'node:assert/strict'
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'

import Database from 'better-sqlite3'

import type { Mandate } from '../../domain/records.ts'
import { seededRandom } from '../../../testing/seeded-random.ts'
import { StoreLedger, type Tenant } from '../../../testing/store-ledger.ts'
import { activityColumns, activityDimensions, activityOf, quarterMs } from '../activity.ts'
import { prepareActivityActs, type RecordedActivity } from './activity-acts.ts'
import { openSqliteFile } from '../ledger/sqlite/open.ts'
import { openSqliteStore } from './sqlite-store.ts'

// Decision 112: the ledger's thread adds up in memory what it records. The definition is that of `activityOf`.

test('What is added up as it is recorded is what the rows add up to, also what a crash left [decision.112]', async (context) => {
  const path = newPath(context)
  const store = openSqliteStore({ path })
  const ledger = new StoreLedger({ store, close: () => store.close() })
  const tenants = [await ledger.tenant(), await ledger.tenant()] as const
  await ledger.seller(tenants[0].sandbox)
  const mandates: Mandate[] = []
  for (const { sandbox, production } of tenants) {
    for (const caller of [sandbox, sandbox, production]) {
      mandates.push(await ledger.mandate(caller, { maxTotalText: '50.00' }))
    }
  }
  const random = seededRandom(112)
  for (let round = 0; round < 600; round++) {
    ledger.clock.nowMs += random.below(quarterMs)
    const mandate = mandates[random.below(mandates.length)] ?? assert.fail()
    const amountText = `${1 + random.below(12)}.25`
    if (random.below(2) === 0) await pay(ledger, tenants, mandate, amountText)
    else await evaluate(ledger, tenants, mandate, { amountText, kind: random.below(4) })
    if (random.below(40) === 0) await store.addUpActivity()
    if (round === 500) while (await store.addUpActivity());
  }

  // The file and its log as a crash would leave them: what was added up in memory only is not in them.
  const crashed = join(path, '..', 'crashed.db')
  copyFileSync(path, crashed)
  copyFileSync(`${path}-wal`, `${crashed}-wal`)
  while (await store.addUpActivity());
  await store.close()
  assertAddedUp(path)
  assertDimensions(path)

  const recovered = openSqliteStore({ path: crashed })
  ledger.clock.nowMs += quarterMs
  const again = new StoreLedger({ store: recovered, close: () => recovered.close() })
  again.clock.nowMs = ledger.clock.nowMs
  const proposal = ledger.newProposal(mandates[0] ?? assert.fail())
  await recovered.evaluate(proposal)
  while (await recovered.addUpActivity());
  await recovered.close()
  assertAddedUp(crashed)
})

test('An act that is undone adds nothing up, and what it would have added is added later [decision.112]', async (context) => {
  const path = newPath(context)
  const { database, close } = openSqliteFile(path)
  context.after(close)
  const acts = prepareActivityActs(database)
  acts.addRecorded(insertPayments(database, 0, 3))
  database.exec('begin')
  assert.equal(acts.addUpActivity(), false)
  database.exec('rollback')
  acts.rolledBack()
  assert.equal(countSums(database), 0)
  acts.addUpActivity()
  acts.committed()
  assert.equal(acts.addUpActivity(), false)
  assertSums(database)
})

test('More sums than may wait in memory are read from the file, and none twice [decision.112]', async (context) => {
  const { database, close } = openSqliteFile(newPath(context))
  context.after(close)
  const acts = prepareActivityActs(database)
  // Each is of another mandate, and so a sum of its own.
  for (let first = 0; first < 20_000; first += 1_000) {
    acts.addRecorded(database.transaction(() => insertPayments(database, first, 1_000))())
    if (first === 3_000) {
      acts.addUpActivity()
      acts.committed()
    }
  }
  let steps = 0
  for (let isMoreLeft = true; isMoreLeft; steps++) {
    isMoreLeft = acts.addUpActivity()
    acts.committed()
  }
  // 500 rows at once from the file, which 1,024 sums from memory would not have taken.
  assert.ok(steps > 30, `${steps} steps`)
  assertSums(database)
})

async function pay(
  ledger: StoreLedger,
  tenants: readonly [Tenant, Tenant],
  mandate: Mandate,
  amountText: string,
): Promise<void> {
  const { environment } = mandate
  const hold = ledger.newHold(mandate, amountText)
  if ((await ledger.store.issueProof(hold)).decision === 'denied') return
  // In the sandbox the first account has registered the shop; in production nobody has, and payers collect.
  const own = tenants.find(({ account }) => account.id === mandate.accountId) ?? assert.fail()
  await ledger.capture(environment === 'sandbox' ? tenants[0].sandbox : own.production, hold)
}

async function evaluate(
  ledger: StoreLedger,
  tenants: readonly [Tenant, Tenant],
  mandate: Mandate,
  { amountText, kind }: { readonly amountText: string; readonly kind: number },
): Promise<void> {
  const environment = mandate.environment === 'sandbox' ? 'production' : 'sandbox'
  const stranger = tenants.find(({ account }) => account.id !== mandate.accountId) ?? assert.fail()
  const oddities = [
    {},
    // Of the other environment, of nobody, and of somebody else.
    { environment },
    { mandateId: 'mandate_of_nobody' },
    { accountId: stranger.account.id },
  ] as const
  await ledger.store.evaluate(ledger.newProposal(mandate, { amountText, ...oddities[kind] }))
}

/** Rows of payments, written past the service; each under a mandate of its own. */
function insertPayments(database: Database.Database, first: number, count: number): RecordedActivity[] {
  const insert = database.prepare(`
    insert into transactions (account_id, id, environment, side, status, agent_id, mandate_id, amount_text, amount_micro,
      currency, resource_url, merchant_domain, seller_account_id, created_at_ms)
    values (:account_id, :id, :environment, :side, :status, 'agent', :mandate_id, '1.00', :amount_micro, 'USDC',
      'https://shop.example/', :merchant_domain, :seller_account_id, :created_at_ms)`)
  return Array.from({ length: count }, (_, index) => {
    const row = {
      account_id: 'account',
      environment: 'sandbox',
      side: 'payer',
      status: 'paid',
      mandate_id: `mandate_${first + index}`,
      merchant_domain: 'shop.example',
      seller_account_id: 'account',
      amount_micro: 1_000_000n,
      created_at_ms: 1_000n,
    } as const
    const { lastInsertRowid } = insert.run({ ...row, id: `txn_${first + index}` })
    return { ...row, reason_code: null, hasMandate: true, rowid: BigInt(lastInsertRowid) }
  })
}

function countSums(database: Database.Database): number {
  return Number(database.prepare('select count(*) from activity').pluck().get())
}

function assertAddedUp(path: string): void {
  const database = new Database(path, { readonly: true })
  assertSums(database)
  database.close()
}

function assertDimensions(path: string): void {
  const database = new Database(path, { readonly: true })
  const found = database.prepare('select distinct dimension from activity').pluck().all()
  assert.deepEqual(new Set(found), new Set(activityDimensions))
  database.close()
}

/** The sums that are kept are those of the definition, and all transactions are in them. */
function assertSums(database: Database.Database): void {
  const sums = (source: string) =>
    database
      .prepare(
        `select account_id, environment, dimension, subject, starts_at_ms, paid_count,
          (paid_high << 32) + paid_low as paid_micro, approved_count, denied_count
        from (${source}) order by 1, 2, 3, 4, 5`,
      )
      .all()
  const kept = sums('select * from activity')
  assert.ok(kept.length > 0)
  assert.deepEqual(kept, sums(activityOf(`select ${activityColumns} from transactions`)))
  const progress = database.prepare('select added_up_to from activity_progress').pluck().get()
  assert.equal(progress, database.prepare('select max(rowid) from transactions').pluck().get())
}

function newPath(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'purser-test-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'purser.db')
}

import assert from 'node:assert/strict'
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'

import Database from 'better-sqlite3'

import { idsFrom } from '../../domain/id-time.ts'
import type { Mandate, Transaction } from '../../domain/records.ts'
import { shopDomain, StoreLedger } from '../../../testing/store-ledger.ts'
import type { Page, PageOf, Store } from '../store.ts'
import { openSqliteStore } from './sqlite-store.ts'

/** More than may wait in memory: each evaluation waits in three lists. */
const evaluations = 24_000

test('What waits to be listed, what is listed, and what a crash left unlisted read as one list [decision.24] [decision.49]', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'purser-test-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'purser.db')
  const store = openSqliteStore({ path })
  const ledger = new StoreLedger({ store, close: () => store.close() })
  const owner = await ledger.tenant()
  const mandates = await Promise.all(Array.from({ length: 40 }, () => ledger.mandate(owner.sandbox)))
  const merchants = ['one.example', 'two.example', 'three.example']
  const expected = new Map<string, string[]>(
    [...mandates.map(({ id }) => id), ...merchants].map((id) => [id, []]),
  )
  for (let done = 0; done < evaluations; done += 1_000) {
    const proposals = Array.from({ length: 1_000 }, (_, index) =>
      ledger.newProposal(mandates[(done + index) % mandates.length] ?? assert.fail(), {
        merchantDomain: merchants[index % merchants.length] ?? assert.fail(),
      }),
    )
    await Promise.all(proposals.map((proposal) => ledger.store.evaluate(proposal)))
    for (const { id, mandateId, merchantDomain } of proposals) {
      expected.get(mandateId)?.unshift(id)
      expected.get(merchantDomain)?.unshift(id)
    }
  }
  await assertLists(store, mandates, expected)

  // The file and its log as a crash would leave them: nothing of what waited in memory is in them.
  const crashed = join(folder, 'crashed.db')
  copyFileSync(path, crashed)
  copyFileSync(`${path}-wal`, `${crashed}-wal`)
  await store.close()
  const recovered = openSqliteStore({ path: crashed })
  context.after(() => recovered.close())
  await assertLists(recovered, mandates, expected)
})

test('After a restart with the clock set back, a list in pages still holds every transaction [decision.24] [decision.49]', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'purser-test-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'purser.db')
  const ids: string[] = []
  const mandates: Mandate[] = []
  for (const atMs of [Date.UTC(2026, 10, 20, 12), Date.UTC(2026, 10, 20, 11)]) {
    const store = openSqliteStore({ path })
    // A ledger of its own makes ids by its own clock, as a process does that has just started.
    const ledger = new StoreLedger({ store, close: () => store.close() })
    ledger.clock.nowMs = atMs
    if (mandates.length === 0) mandates.push(await ledger.mandate((await ledger.tenant()).sandbox))
    for (let count = 0; count < 10; count++) {
      const proposal = ledger.newProposal(mandates[0] ?? assert.fail())
      await store.evaluate(proposal)
      ids.push(proposal.id)
    }
    await store.close()
  }
  const store = openSqliteStore({ path })
  context.after(() => store.close())
  const [mandate] = mandates as [Mandate]
  for (const filter of [{ mandateId: mandate.id }, { agentId: mandate.agentId }]) {
    const read = await readInPages((page) => store.listTransactions(mandate, filter, { ...page, limit: 3 }))
    assert.deepEqual(read, ids.toSorted().toReversed())
  }
})

test('While little is recorded, what waits is listed by and by; a busy ledger is left alone [decision.49]', async (context) => {
  const { path, ledger, mandate } = await prepare(context)
  const evaluate = (count: number) =>
    Promise.all(Array.from({ length: count }, () => ledger.store.evaluate(ledger.newProposal(mandate))))

  await evaluate(400)
  await ledger.store.addUpActivity()
  assert.deepEqual(progressOf(path), { listed: 0, unlisted: 400 })
  await evaluate(20)
  const progress: unknown[] = []
  for (let looks = 0; looks < 3; looks++) {
    await ledger.store.addUpActivity()
    progress.push(progressOf(path))
  }
  // A thousand entries at a look: the lists of the agent, of the mandate, and then of the merchant.
  assert.deepEqual(progress, [
    { listed: 1_000, unlisted: 260 },
    { listed: 1_260, unlisted: 0 },
    { listed: 1_260, unlisted: 0 },
  ])
  const { items } = await ledger.store.listTransactions(mandate, { mandateId: mandate.id }, { limit: 1_000 })
  assert.equal(items.length, 420)
})

test('Transactions whose ids are older than what is listed, as when a clock is set back, are neither missing nor shown twice [decision.49]', async (context) => {
  const { ledger, mandate } = await prepare(context)
  const ids: string[] = []
  for (const minutes of [9, 0, 5, 7, 3, 12, 1]) {
    ledger.clock.nowMs = Date.UTC(2026, 10, 20, 12, minutes)
    for (let made = 0; made < 9; made++) {
      // Each moment has ids of its own, as those of another process would be.
      const proposal = ledger.newProposal(mandate, { id: idAt(ledger.clock.nowMs, made) })
      await ledger.store.evaluate(proposal)
      ids.push(proposal.id)
    }
    if (minutes !== 12 && minutes !== 1) await ledger.store.addUpActivity()
  }
  const filter = { mandateId: mandate.id }
  const read: string[] = []
  let olderThan: string | undefined
  do {
    const page = await ledger.store.listConsoleTransactions(mandate, filter, { limit: 1, olderThan })
    read.push(...page.items.map(({ id }) => id))
    olderThan = page.next
  } while (olderThan !== undefined)
  assert.deepEqual(read, ids.toSorted().toReversed())
  const denied = { ...filter, status: 'denied' as const }
  assert.deepEqual(await ledger.store.listTransactions(mandate, denied, { limit: 1 }), {
    items: [],
    next: undefined,
  })
})

test('The latest transactions are those with the newest ids, also when older ones came later and wait [decision.26] [decision.49]', async (context) => {
  const { ledger, mandate } = await prepare(context)
  const noonMs = Date.UTC(2026, 10, 20, 12)
  const evaluateAt = async (atMs: number, count: number, amountText: string) => {
    for (let place = 0; place < count; place++) {
      const fields = { id: idAt(atMs, place), createdAtMs: atMs, amountText }
      await ledger.store.evaluate(ledger.newProposal(mandate, fields))
    }
  }
  await evaluateAt(noonMs, 5, '11.00')
  // Little is recorded, so these are listed; then the clock is set back, and more wait than are looked at.
  for (let looks = 0; looks < 3; looks++) await ledger.store.addUpActivity()
  await evaluateAt(noonMs - 50_000, 40, '1.00')
  const { risk } = await ledger.store.readAgentFacts({
    caller: { ...mandate, keyId: 'key_1', role: 'owner', agentId: null },
    agentId: mandate.agentId,
    mandateId: mandate.id,
    merchantDomain: shopDomain,
    nowMs: noonMs + 20_000,
  })
  assert.equal(risk?.deniedInLastHour, 5)
  // Thirty are looked at, of which 25 are more than a minute old.
  assert.equal(risk.transactionsInLastMinute, 5)
})

function idAt(atMs: number, place: number): string {
  return idsFrom('txn', atMs) + String(place).padStart(16, '0')
}

async function prepare(context: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'purser-test-'))
  const path = join(folder, 'purser.db')
  const store = openSqliteStore({ path })
  context.after(async () => {
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const ledger = new StoreLedger({ store, close: () => store.close() })
  return { path, ledger, mandate: await ledger.mandate((await ledger.tenant()).sandbox) }
}

/** How many entries are written, and how many transactions may not stand in their lists yet. */
function progressOf(path: string) {
  const db = new Database(path, { readonly: true })
  try {
    return db
      .prepare(
        `select (select count(*) from listed_transactions) as listed,
          (select count(*) from transactions where rowid > (select listed_up_to from list_progress)) as unlisted`,
      )
      .get()
  } finally {
    db.close()
  }
}

/** Every mandate's list is complete and newest first, and so are that of its agent and those of merchants. */
async function assertLists(
  store: Store,
  mandates: readonly Mandate[],
  expected: ReadonlyMap<string, readonly string[]>,
): Promise<void> {
  const [{ accountId, environment }] = mandates as [Mandate]
  const scope = { accountId, environment }
  const ofMandate = new Map(mandates.map((mandate) => [mandate.id, mandate]))
  for (const [id, ids] of expected) {
    const mandate = ofMandate.get(id)
    const filters = mandate ? [{ mandateId: id }, { agentId: mandate.agentId }] : [{ merchantDomain: id }]
    for (const filter of filters) {
      assert.deepEqual(await readInPages((page) => store.listTransactions(scope, filter, page)), ids)
      if (mandate) continue
      assert.deepEqual(await readInPages((page) => store.listConsoleTransactions(scope, filter, page)), ids)
    }
  }
}

async function readInPages(list: (page: Page) => Promise<PageOf<Transaction>>): Promise<string[]> {
  const ids: string[] = []
  let olderThan: string | undefined
  do {
    const page = await list({ limit: 1_500, olderThan })
    ids.push(...page.items.map(({ id }) => id))
    olderThan = page.next
  } while (olderThan !== undefined)
  return ids
}

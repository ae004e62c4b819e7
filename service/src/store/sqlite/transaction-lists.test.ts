import assert from 'node:assert/strict'
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

import type { Mandate, Scope } from '../../domain/records.ts'
import { StoreLedger } from '../../../testing/store-ledger.ts'
import type { Store, TransactionFilter } from '../store.ts'
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
    assert.deepEqual(await readInPages(store, mandate, filter, 3), ids.toSorted().toReversed())
  }
})

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
    for (const filter of filters) assert.deepEqual(await readInPages(store, scope, filter), ids)
  }
}

async function readInPages(
  store: Store,
  scope: Scope,
  filter: TransactionFilter,
  limit = 150,
): Promise<string[]> {
  const ids: string[] = []
  let olderThan: string | undefined
  do {
    const page = await store.listTransactions(scope, filter, { limit, olderThan })
    ids.push(...page.items.map(({ id }) => id))
    olderThan = page.next
  } while (olderThan !== undefined)
  return ids
}

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'

import { createIdsOfTimes } from '../src/ids.ts'
import { openPostgresLedgerStore } from '../src/store/ledger/postgres/postgres-ledger-store.ts'
import { openSqliteLedgerStore } from '../src/store/ledger/sqlite/sqlite-ledger-store.ts'
import type { ConsoleFilter } from '../src/store/console/store.ts'
import type { Page, PageOf, Store } from '../src/store/store.ts'
import { multiplyLedger, type LedgerPlace } from '../testing/multiply-ledger.ts'
import { postgres18 } from '../testing/postgres.ts'
import { shopDomain, StoreLedger } from '../testing/store-ledger.ts'
import { makeFolder } from './process.ts'

/** How many other transactions the account has: one per minute. */
const many = 20_000
const everyMs = 60_000
const limit = 50

interface Bed {
  readonly place: LedgerPlace
  readonly open: () => Promise<Store>
}

const beds: readonly [
  name: string,
  make: (context: TestContext) => Promise<Bed>,
  missing?: string | undefined,
][] = [
  [
    'SQLite',
    async (context) => {
      const path = join(makeFolder(context), 'purser.db')
      return {
        place: { path },
        open: async () => openSqliteLedgerStore({ path, nextId: createIdsOfTimes() }),
      }
    },
  ],
  [
    postgres18.name,
    async (context) => {
      const { url, drop } = await postgres18.createDatabase()
      context.after(drop)
      return { place: { url }, open: () => openPostgresLedgerStore({ url, nextId: createIdsOfTimes() }) }
    },
    postgres18.missing,
  ],
]

for (const [name, makeBed, missing] of beds) {
  test(
    `On ${name}, the few transactions of an agent with 100 mandates, a seller, a status or a reason are found in a few pages among 20,000 others`,
    { skip: missing ?? false },
    async (context) => {
      const { place, open } = await makeBed(context)
      const first = new StoreLedger(opened(await open()))
      const { sandbox } = await first.tenant()
      const busy = await first.mandate(sandbox, { allowedSellers: ['*'], maxTotalText: '1000000.00' })
      await first.pay(sandbox, await first.hold(busy))
      await first.close()
      await multiplyLedger(place, { copies: many, everyMs })

      const ledger = new StoreLedger(opened(await open()))
      context.after(() => ledger.close())
      ledger.clock.nowMs = first.clock.nowMs - (many / 2) * everyMs
      // Ids that no other ledger of the test has used.
      for (let spent = 0; spent < 100; spent++) ledger.ids.next('agent')
      const rare = await ledger.mandate(sandbox, { allowedSellers: ['*'] })
      const { agentId, id: mandateId } = rare
      for (let others = 0; others < 99; others++) await ledger.mandate(sandbox, { agentId })
      const expected: string[] = []
      for (const merchantDomain of ['rare.example', 'other.example']) {
        ledger.clock.nowMs += 3 * 3_600_000
        expected.push(await ledger.pay(sandbox, await ledger.hold(rare), { merchantDomain }))
        const denied = ledger.newProposal(rare, { merchantDomain, amountText: '99.00' })
        assert.equal((await ledger.store.evaluate(denied)).decision, 'denied')
        expected.push(denied.id)
      }
      const inProduction = ledger.newProposal(await ledger.mandate(sandbox), { environment: 'production' })
      await ledger.store.evaluate(inProduction)
      while (await ledger.store.addUpActivity());
      assert.deepEqual(await ledger.store.findLedgerFaults(), [])
      const [paid, denied, paidElsewhere, deniedElsewhere] = expected.toReversed()
      assert(paid && denied && paidElsewhere && deniedElsewhere)

      const found: readonly (readonly [ConsoleFilter, readonly string[]])[] = [
        [{ agentId }, expected.toReversed()],
        [{ mandateId }, expected.toReversed()],
        [{ merchantDomain: 'rare.example' }, expected.slice(0, 2).toReversed()],
        [{ merchantDomain: 'none.example' }, []],
        [{ status: 'denied' }, [expected[3]!, expected[1]!]],
        [{ status: 'denied', merchantDomain: shopDomain }, []],
        [{ status: 'approved' }, []],
        [{ status: 'pending' }, []],
        [{ reasonCode: 'amount_exceeds_per_transaction_limit' }, [expected[3]!, expected[1]!]],
        [{ reasonCode: 'agent_revoked' }, []],
      ]
      for (const [filter, ids] of found) {
        const what = JSON.stringify(filter)
        const list = (page: Page) => ledger.store.listConsoleTransactions(sandbox, filter, page)
        const pages = await allPages(list)
        assert.deepEqual(pages.flat(), ids, what)
        // A page reads 300, and a quarter of an hour has 15.
        assert.ok(pages.length <= 4, `${what}: ${pages.length} pages`)
        const { reasonCode, ...others } = filter
        if (reasonCode === undefined) {
          const pages = await allPages((page) => ledger.store.listTransactions(sandbox, others, page))
          assert.deepEqual(pages.flat(), ids, what)
          assert.equal(pages.length, 1, what)
        }
      }
      const production = await allPages((page) =>
        ledger.store.listTransactions({ ...sandbox, environment: 'production' }, {}, page),
      )
      assert.deepEqual(production, [[inProduction.id]])
    },
  )
}

function opened(store: Store) {
  return { store, close: () => store.close() }
}

async function allPages(read: (page: Page) => Promise<PageOf<{ readonly id: string }>>): Promise<string[][]> {
  const pages: string[][] = []
  for (let olderThan: string | undefined; ;) {
    const { items, next } = await read({ limit, olderThan })
    pages.push(items.map(({ id }) => id))
    if (next === undefined) return pages
    olderThan = next
  }
}

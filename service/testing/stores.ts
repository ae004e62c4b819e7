import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe } from 'node:test'

import { createIdsOfTimes } from '../src/ids.ts'
import { openPostgresLedgerStore } from '../src/store/ledger/postgres/postgres-ledger-store.ts'
import { openSqliteLedgerStore } from '../src/store/ledger/sqlite/sqlite-ledger-store.ts'
import { postgresServers, type PostgresServer } from './postgres.ts'
import { StoreLedger, type OpenedStore } from './store-ledger.ts'

/** A store for the conformance suite. */
interface StoreUnderTest {
  readonly name: string
  /** Why it cannot be tested here, if it cannot. */
  readonly missing?: string | undefined
  readonly open: () => Promise<StoreOfTests>
}

type StoreOfTests = OpenedStore & {
  /** Empties its ledger for the next test; absent for a store that is closed instead. */
  readonly empty?: () => Promise<void>
}

const stores: readonly StoreUnderTest[] = [
  { name: 'SQLite', open: async () => openSqliteIn(newFolder()) },
  ...postgresServers.map(({ name, missing, createDatabase }) => ({
    name,
    missing,
    open: async () => openPostgresOn(await createDatabase()),
  })),
]

/** Opens a store for one test, or for several, and closes it after them. */
export type OpenLedger = (context: {
  readonly after: (close: () => Promise<void>) => void
}) => Promise<StoreLedger>

/**
 * Declares the tests of a chapter for every store. Most tests create accounts of their own in a store that all tests of the
 * process share, because opening one takes longer than most tests; its ledger must have no fault in the end. `openEmpty`
 * is for those that need an empty ledger, and `openOwn` for those that also close their store.
 */
export function storeConformance(
  declareTests: (stores: Record<'open' | 'openEmpty' | 'openOwn', OpenLedger>) => void,
): void {
  for (const { name, missing, open } of stores) {
    describe(name, { skip: missing ?? false }, () =>
      declareTests({
        open: async () => new StoreLedger(await openShared(name, open), ++ledgers),
        openEmpty: async (context) => {
          const opened = emptied.get(name)?.pop() ?? (await open())
          context.after(() => emptyOrClose(name, opened))
          return new StoreLedger({ store: opened.store, close: refuse, reopen: refuse }, ++ledgers)
        },
        openOwn: async (context) => {
          const ledger = new StoreLedger(await open(), ++ledgers)
          context.after(() => ledger.close())
          return ledger
        },
      }),
    )
  }
}

let ledgers = 0
const shared = new Map<string, Promise<OpenedStore>>()

/** A store that stays open until the process has run its tests. */
async function openShared(name: string, open: StoreUnderTest['open']): Promise<OpenedStore> {
  const opened = shared.get(name) ?? open()
  shared.set(name, opened)
  const { store } = await opened
  return { store, close: refuse, reopen: refuse }
}

/** Stores with an empty ledger, which earlier tests have used. */
const emptied = new Map<string, StoreOfTests[]>()

async function emptyOrClose(name: string, opened: StoreOfTests): Promise<void> {
  if (!opened.empty) return opened.close()
  await opened.empty()
  emptied.set(name, [...(emptied.get(name) ?? []), opened])
}

const refuse = () => assert.fail('other tests use this store too: call openOwn')

after(async () => {
  for (const [name, opening] of shared) {
    const { store, close } = await opening
    const faults = await store.findLedgerFaults()
    await close()
    assert.deepEqual(faults, [], `faults of the shared ledger on ${name}`)
  }
  for (const opened of [...emptied.values()].flat()) await opened.close()
})

/** Queries of the console may take long: much else runs at the same time. */
function options() {
  return { nextId: createIdsOfTimes(), queryMs: 60_000 }
}

function newFolder(): string {
  return mkdtempSync(join(tmpdir(), 'purser-test-'))
}

function openSqliteIn(folder: string): OpenedStore {
  const store = openSqliteLedgerStore({ path: join(folder, 'purser.db'), ...options() })
  return {
    store,
    close: async () => {
      await store.close()
      rmSync(folder, { recursive: true, force: true })
    },
    reopen: async () => {
      await store.close()
      return openSqliteIn(folder)
    },
  }
}

async function openPostgresOn(
  database: Awaited<ReturnType<PostgresServer['createDatabase']>>,
): Promise<StoreOfTests> {
  const store = await openPostgresLedgerStore({ url: database.url, ...options() })
  return {
    store,
    empty: database.empty,
    close: async () => {
      await store.close()
      await database.drop()
    },
    reopen: async () => {
      await store.close()
      return openPostgresOn(database)
    },
  }
}

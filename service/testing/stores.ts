import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe } from 'node:test'

import { createIdsOfTimes } from '../src/ids.ts'
import { openPostgresLedgerStore } from '../src/store/ledger/postgres/postgres-ledger-store.ts'
import { openSqliteLedgerStore } from '../src/store/ledger/sqlite/sqlite-ledger-store.ts'
import type { PostgresDatabase } from './postgres-databases.ts'
import { postgresServers } from './postgres.ts'
import { StoreLedger, type OpenedStore } from './store-ledger.ts'

/** A store for the conformance suite. */
interface StoreUnderTest {
  readonly name: string
  /** Why it cannot be tested here, if it cannot. */
  readonly missing?: string | undefined
  readonly open: () => Promise<OpenedStore>
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
 * process share, because opening one takes longer than most tests; `openEmpty` is for those that need it for themselves.
 */
export function storeConformance(
  declareTests: (stores: { readonly open: OpenLedger; readonly openEmpty: OpenLedger }) => void,
): void {
  for (const { name, missing, open } of stores) {
    describe(name, { skip: missing ?? false }, () =>
      declareTests({
        open: async () => new StoreLedger(await openShared(name, open), ++ledgers),
        openEmpty: async (context) => {
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

const refuse = () => assert.fail('other tests use this store too: open an empty one')

after(async () => {
  for (const opened of shared.values()) await (await opened).close()
})

function newFolder(): string {
  return mkdtempSync(join(tmpdir(), 'purser-test-'))
}

function openSqliteIn(folder: string): OpenedStore {
  const store = openSqliteLedgerStore({ path: join(folder, 'purser.db'), nextId: createIdsOfTimes() })
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

async function openPostgresOn(database: PostgresDatabase): Promise<OpenedStore> {
  const store = await openPostgresLedgerStore({ url: database.url, nextId: createIdsOfTimes() })
  return {
    store,
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

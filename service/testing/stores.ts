import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext } from 'node:test'

import { openSqliteStore, type SqliteStoreOptions } from '../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../src/store/store.ts'
import { StoreLedger } from './store-ledger.ts'

/** A store of a test's own. */
export interface OpenedStore {
  readonly store: Store
  /** Closes the store and takes everything away that it left. */
  readonly close: () => Promise<void>
  /** Closes the store and opens it again on the same data; left out by a store that keeps nothing. */
  readonly reopen?: () => Promise<OpenedStore>
}

/** A store that the conformance suite is run for. */
interface StoreUnderTest {
  readonly name: string
  readonly open: () => Promise<OpenedStore>
}

const stores: readonly StoreUnderTest[] = [
  { name: 'SQLite', open: () => openSqlite({}) },
  { name: 'SQLite in a thread of its own', open: () => openSqlite({ ownThread: true }) },
  { name: 'SQLite without group commit', open: () => openSqlite({ groupCommit: false }) },
]

/** Opens an empty store for one test, and closes it after the test. */
export type OpenLedger = (context: Pick<TestContext, 'after'>) => Promise<StoreLedger>

/** Declares the tests of a chapter for every store. */
export function storeConformance(declareTests: (open: OpenLedger) => void): void {
  for (const { name, open } of stores) {
    describe(name, () =>
      declareTests(async (context) => {
        const ledger = new StoreLedger(await open())
        context.after(() => ledger.close())
        return ledger
      }),
    )
  }
}

async function openSqlite(options: Omit<SqliteStoreOptions, 'path'>): Promise<OpenedStore> {
  return openSqliteIn(mkdtempSync(join(tmpdir(), 'purser-test-')), options)
}

function openSqliteIn(folder: string, options: Omit<SqliteStoreOptions, 'path'>): OpenedStore {
  const store = openSqliteStore({ path: join(folder, 'purser.db'), ...options })
  return {
    store,
    close: async () => {
      await store.close()
      rmSync(folder, { recursive: true, force: true })
    },
    reopen: async () => {
      await store.close()
      return openSqliteIn(folder, options)
    },
  }
}

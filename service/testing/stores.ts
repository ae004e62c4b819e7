import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext } from 'node:test'

import { openSqliteStore } from '../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../src/store/store.ts'
import { openPostgresStore } from '../src/store/postgres/postgres-store.ts'
import { postgres18, postgresServers, type PostgresDatabase, type PostgresServer } from './postgres.ts'
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
  /** Why it cannot be tested here, if it cannot. */
  readonly missing?: string | undefined
  readonly open: () => Promise<OpenedStore>
}

const stores: readonly StoreUnderTest[] = [
  { name: 'SQLite', open: () => openSqlite({ groupCommit: true }) },
  { name: 'SQLite without group commit', open: () => openSqlite({ groupCommit: false }) },
  ...postgresServers.map((server) => ({
    name: server.name,
    missing: server.missing,
    open: () => openPostgres(server, { groupCommit: true }),
  })),
  {
    name: `${postgres18.name} without group commit`,
    open: () => openPostgres(postgres18, { groupCommit: false }),
  },
]

/** Opens an empty store for one test, and closes it after the test. */
export type OpenLedger = (context: Pick<TestContext, 'after'>) => Promise<StoreLedger>

/** Declares the tests of a chapter for every store. */
export function storeConformance(declareTests: (open: OpenLedger) => void): void {
  for (const { name, missing, open } of stores) {
    describe(name, { skip: missing ?? false }, () =>
      declareTests(async (context) => {
        const ledger = new StoreLedger(await open())
        context.after(() => ledger.close())
        return ledger
      }),
    )
  }
}

async function openSqlite(options: { readonly groupCommit: boolean }): Promise<OpenedStore> {
  return openSqliteIn(mkdtempSync(join(tmpdir(), 'purser-test-')), options)
}

function openSqliteIn(folder: string, options: { readonly groupCommit: boolean }): OpenedStore {
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

async function openPostgres(
  server: PostgresServer,
  options: { readonly groupCommit: boolean },
): Promise<OpenedStore> {
  return openPostgresOn(await server.createDatabase(), options)
}

async function openPostgresOn(
  database: PostgresDatabase,
  options: { readonly groupCommit: boolean },
): Promise<OpenedStore> {
  const store = await openPostgresStore({ url: database.url, ...options })
  return {
    store,
    close: async () => {
      await store.close()
      await database.drop()
    },
    reopen: async () => {
      await store.close()
      return openPostgresOn(database, options)
    },
  }
}

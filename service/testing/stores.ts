import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe } from 'node:test'

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

/** Opens an empty store for one test, or for several, and closes it after them. */
export type OpenLedger = (context: {
  readonly after: (close: () => Promise<void>) => void
}) => Promise<StoreLedger>

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

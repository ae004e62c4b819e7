import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext } from 'node:test'

import { createIdsOfTimes } from '../src/ids.ts'
import { openPostgresLedgerStore } from '../src/store/ledger/postgres/postgres-ledger-store.ts'
import { openSqliteLedgerStore } from '../src/store/ledger/sqlite/sqlite-ledger-store.ts'
import { openSqliteStore, type SqliteStoreOptions } from '../src/store/sqlite/sqlite-store.ts'
import { openPostgresStore, type PostgresStoreOptions } from '../src/store/postgres/postgres-store.ts'
import type { PostgresDatabase } from './postgres-databases.ts'
import { postgres18, postgresServers, type PostgresServer } from './postgres.ts'
import { StoreLedger, type OpenedStore } from './store-ledger.ts'

/** A store that the conformance suite is run for. */
interface StoreUnderTest {
  readonly name: string
  /** Why it cannot be tested here, if it cannot. */
  readonly missing?: string | undefined
  readonly open: () => Promise<OpenedStore>
}

/** The stores on the new ledger, which run the suites that they pass, and all of them where a variable asks for it. */
const ledgerStores: readonly StoreUnderTest[] = [
  { name: 'the ledger in SQLite', open: async () => openSqliteLedgerIn(newFolder()) },
  ...postgresServers
    .filter(({ isDistributed }) => !isDistributed)
    .map((server) => ({
      name: `the ledger in ${server.name}`,
      missing: server.missing,
      open: async () => openPostgresLedgerOn(await server.createLedgerDatabase()),
    })),
]

const stores: readonly StoreUnderTest[] = [
  { name: 'SQLite', open: () => openSqlite({}) },
  { name: 'SQLite in a thread of its own', open: () => openSqlite({ ownThread: true }) },
  { name: 'SQLite without group commit', open: () => openSqlite({ groupCommit: false }) },
  ...postgresServers.map((server) => ({
    name: server.name,
    missing: server.missing,
    open: () => openPostgres(server, { accountLanes: server.isDistributed }),
  })),
  {
    name: `${postgres18.name} without group commit`,
    open: () => openPostgres(postgres18, { groupCommit: false }),
  },
  {
    name: `${postgres18.name} with account lanes`,
    open: () => openPostgres(postgres18, { accountLanes: true }),
  },
]

/** Opens an empty store for one test, and closes it after the test. */
export type OpenLedger = (context: Pick<TestContext, 'after'>) => Promise<StoreLedger>

/** Declares the tests of a chapter for every store. */
export function storeConformance(
  declareTests: (open: OpenLedger) => void,
  { onLedger = false }: { readonly onLedger?: boolean } = {},
): void {
  const asked = process.env['PURSER_TEST_LEDGER']
  const [quick] = ledgerStores
  const wanted =
    asked !== undefined
      ? ledgerStores.filter(({ name }) => name.includes(asked))
      : [...stores, ...(onLedger && quick ? [quick] : [])]
  for (const { name, missing, open } of wanted) {
    describe(name, { skip: missing ?? false }, () =>
      declareTests(async (context) => {
        const ledger = new StoreLedger(await open())
        context.after(() => ledger.close())
        return ledger
      }),
    )
  }
}

async function openSqlite(options: Omit<SqliteStoreOptions, 'path'>): Promise<OpenedStore> {
  return openSqliteIn(newFolder(), options)
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

function newFolder(): string {
  return mkdtempSync(join(tmpdir(), 'purser-test-'))
}

function openSqliteLedgerIn(folder: string): OpenedStore {
  const store = openSqliteLedgerStore({ path: join(folder, 'purser.db'), nextId: createIdsOfTimes() })
  return {
    store,
    close: async () => {
      await store.close()
      rmSync(folder, { recursive: true, force: true })
    },
    reopen: async () => {
      await store.close()
      return openSqliteLedgerIn(folder)
    },
  }
}

async function openPostgresLedgerOn(database: PostgresDatabase): Promise<OpenedStore> {
  const store = await openPostgresLedgerStore({ url: database.url, nextId: createIdsOfTimes() })
  return {
    store,
    close: async () => {
      await store.close()
      await database.drop()
    },
    reopen: async () => {
      await store.close()
      return openPostgresLedgerOn(database)
    },
  }
}

async function openPostgres(
  server: PostgresServer,
  options: Omit<PostgresStoreOptions, 'url'>,
): Promise<OpenedStore> {
  return openPostgresOn(await server.createDatabase(), options)
}

async function openPostgresOn(
  database: PostgresDatabase,
  options: Omit<PostgresStoreOptions, 'url'>,
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

import { setTimeout as sleep } from 'node:timers/promises'

import { Kysely, PostgresDialect, sql } from 'kysely'
import type { Pool } from 'pg'

import type { Caller } from '../../../domain/records.ts'
import { idBytes, idText } from '../../../domain/type-id.ts'
import { kyselyOver } from '../../console/dialect.ts'
import { consoleQueryMs } from '../../console/store.ts'
import { GroupCommit } from '../../group-commit.ts'
import { prepareCallers, type LookUpCallers } from '../../postgres/callers.ts'
import { connectionCounts } from '../../postgres/connection-counts.ts'
import { openPool, storable, withClient } from '../../postgres/connection.ts'
import { databaseBytes, prepareQueries } from '../../postgres/console-dialect.ts'
import { migrate } from '../../postgres/migrate.ts'
import { beside } from '../../postgres/payment-queues.ts'
import { withRetries } from '../../postgres/retries.ts'
import type { StoreMetrics } from '../../store-metrics.ts'
import { StoreUnavailableError, type Store } from '../../store.ts'
import { closedError, createLedgerActs, type NextId } from '../ledger-store.ts'
import { Ledger } from '../ledger.ts'
import { idFrom, rowOf, type ReadDialect, type Reader } from '../reads/dialect.ts'
import { prepareLedgerReads } from '../reads/ledger-reads.ts'
import { Sweep } from '../sweep.ts'
import { apiKeys } from '../tables.ts'
import { createPostgresDriver } from './postgres-driver.ts'
import { schema } from './schema.ts'

export interface PostgresLedgerStoreOptions {
  /** Where the database is, as `postgresql://user:password@host:port/name`. */
  readonly url: string
  readonly nextId: NextId
  /** How long a request may wait for its operation or its read, every attempt included. */
  readonly patienceMs?: number
  /** Is told of each wait for a connection that took over a second, in milliseconds. */
  readonly onWait?: ((waitedMs: number) => void) | undefined
  /** Where the store counts what it does, if anywhere. */
  readonly metrics?: StoreMetrics | undefined
  /** From 0 to below 1; spreads the attempts of transactions that met. */
  readonly random?: () => number
}

/** The steps of the schema, oldest first. */
export const ledgerMigrations: readonly string[] = [schema]

/** Max calls that wait for a transaction, and max reads that wait for a connection. */
const maxWaiting = 8_192

/** How many batches are written at once. */
const lanes = 2

/** How many accounts of mandates are kept in memory. */
const maxAccountsKept = 65_536

const dialect: ReadDialect = {
  idParameter: (bytes) => idText('nonce', bytes),
  nameOf: ({ name }) => name,
  inTime: sql``,
  entriesOfMandates: () => Promise.resolve(sql.table('entries')),
}

/**
 * The store on a PostgreSQL database, for any number of processes, with its schema brought up to date. Throws a
 * `StoreOpenError` when the database cannot be used.
 */
export async function openPostgresLedgerStore(options: PostgresLedgerStoreOptions): Promise<Store> {
  await withClient(options.url, (client, place) => migrate(client, place, ledgerMigrations))
  return createStore(options)
}

function createStore({
  url,
  nextId,
  patienceMs = 10_000,
  random = Math.random,
  onWait,
  metrics,
}: PostgresLedgerStoreOptions): Store {
  const counts = connectionCounts(false)
  const writing = openPool(url, { max: counts.write, onWait, metrics, name: 'write' })
  const reading = openPool(url, {
    max: counts.read,
    query_timeout: patienceMs,
    onWait,
    metrics,
    name: 'read',
  })
  // Going through the whole ledger takes as long as it takes, and keeps nobody from a connection.
  const auditing = openPool(url, { max: counts.audit, idleTimeoutMillis: 1_000 })
  // What the console asks takes no connection from payments.
  const watching = openPool(url, {
    max: counts.console,
    query_timeout: consoleQueryMs * 2,
    metrics,
    name: 'console',
  })
  const ledger = new Ledger({
    driver: createPostgresDriver(writing),
    stopwatch: { nowMs: () => performance.now(), sleep: (ms) => sleep(ms) },
    random,
    maxWaiting,
    lanes,
    patienceMs,
  })
  metrics?.addDepth({ name: 'ledger', limit: maxWaiting, waiting: () => ledger.waiting })
  const db = kyselyOn(reading)
  const askForConsole = prepareQueries(watching, { retry })
  const consoleDb = kyselyOver(askForConsole, new PostgresDialect({ pool: watching })) as Reader
  const callers = prepareCallers(reading, { maxWaiting, beside, retry, lookUp: lookUpCallers })
  const accountsOfMandates = new Map<string, string>()
  const lookUps = new GroupCommit<string, string | undefined>({
    maxBatch: 256,
    maxWaiting,
    lanes: 2,
    writeBatch: async (ids) => {
      const found = await retry(() => lookUpAccounts(reading, [...new Set(ids)]))
      if (accountsOfMandates.size + found.size > maxAccountsKept) accountsOfMandates.clear()
      for (const [id, accountId] of found) accountsOfMandates.set(id, accountId)
      return ids.map((id) => ({ value: found.get(id) }))
    },
  })
  let closing: Promise<void> | undefined
  let isEnded = false

  async function retry<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    return withRetries({ deadlineMs: performance.now() + patienceMs, random }, work)
  }

  /** A read's answer, from what is committed. */
  async function read<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    if (closing) throw closedError()
    if (reading.waitingCount > maxWaiting) {
      throw new StoreUnavailableError('too many reads wait for the store', { retryAfterSeconds: 1 })
    }
    return retry(work)
  }

  /** What the console asks is tried again where it is asked. */
  async function readForConsole<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    if (closing) throw closedError()
    return work()
  }

  const acts = createLedgerActs({
    ledger,
    nextId,
    // It never changes, so it is cached.
    accountOfMandate: async (id) => accountsOfMandates.get(id) ?? lookUps.submit(id),
    sweep: new Sweep({ ledger, db, dialect }),
  })
  const reads = prepareLedgerReads({
    db,
    consoleDb,
    auditDb: kyselyOn(auditing),
    dialect,
    consoleDialect: dialect,
    read,
    readForConsole,
  })

  async function close(): Promise<void> {
    await acts.close()
    await Promise.all([callers.drain(), lookUps.drain()])
    isEnded = true
    await Promise.all([writing, reading, auditing, watching].map((pool) => pool.end()))
  }

  return {
    ...acts,
    ...reads,
    checkReady: () =>
      read(async () => {
        const { rows } = await reading.query<{ version: number }>('select version from purser_schema')
        if (rows[0]?.version === ledgerMigrations.length) return
        throw new StoreUnavailableError(
          `the database has schema ${rows[0]?.version}, and this release needs ${ledgerMigrations.length}`,
          { retryAfterSeconds: 5 },
        )
      }),
    close: () => (closing ??= close()),
    // The operation looks at the key.
    confirmsCallers: true,
    authenticate: async (secretHash): Promise<Caller | undefined> => {
      // Until the last capture is decided, which may have to look at the key of its caller.
      if (isEnded) throw closedError()
      return callers.submit(secretHash)
    },
    readFigures: async () => ({
      kind: 'postgres',
      schemaVersion: ledgerMigrations.length,
      waiting: ledger.waiting,
      mostWaiting: maxWaiting,
      commits: 0,
      commitMs: [],
      ledgerBytes: await databaseBytes(askForConsole),
    }),
  }
}

/** A reader over a pool. */
function kyselyOn(pool: Pool): Reader {
  const connect = async () => {
    const client = await pool.connect()
    return {
      query: (text: string, values: readonly unknown[]) => client.query(text, values.map(storable)),
      release: () => client.release(),
    }
  }
  return new Kysely<unknown>({
    dialect: new PostgresDialect({ pool: { connect, end: () => pool.end() } as never }),
  })
}

/** The callers of keys that are not revoked, and whose accounts are not disabled, by the SHA-256 of the key in hexadecimal digits. */
const lookUpCallers: LookUpCallers = async (pool, hashes) => {
  const { rows } = await pool.query<Record<string, unknown> & { readonly hash: string }>({
    name: 'purser_ledger_callers',
    text: `
      select encode(h.secret_hash, 'hex') as hash, k.* from key_hashes h
        join api_keys k on k.account_id = h.account_id and k.id = h.key_id and k.revoked_at_ms is null
        join accounts a on a.id = h.account_id and a.disabled_at_ms is null
      where h.secret_hash = any ($1)`,
    values: [hashes.map((hash) => Buffer.from(hash, 'hex'))],
  })
  return new Map(
    rows.map((row) => {
      const { accountId, environment, id: keyId, role, agentId } = rowOf(apiKeys, row)
      return [row.hash, { accountId, environment, keyId, role, agentId }]
    }),
  )
}

async function lookUpAccounts(pool: Pool, mandateIds: readonly string[]): Promise<Map<string, string>> {
  const known = mandateIds.flatMap((id) => idBytes('mandate', id) ?? [])
  if (known.length === 0) return new Map()
  const { rows } = await pool.query<{ mandate_id: string; account_id: string }>({
    name: 'purser_ledger_accounts',
    text: 'select mandate_id, account_id from mandate_accounts where mandate_id = any ($1::uuid[])',
    values: [known.map((bytes) => idText('nonce', bytes))],
  })
  return new Map(rows.map((row) => [idFrom('mandate', row.mandate_id), idFrom('account', row.account_id)]))
}

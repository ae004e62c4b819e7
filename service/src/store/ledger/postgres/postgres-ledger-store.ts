import { setTimeout as sleep } from 'node:timers/promises'

import type { Caller } from '../../../domain/records.ts'
import { CommitHealth } from '../../commit-health.ts'
import { CommitTimes, maxWaiting } from '../../commit-times.ts'
import { codeOf } from '../../error-code.ts'
import { copyMark, refuseUnfinishedCopy } from './refused-databases.ts'
import { consoleQueryMs } from '../../console/store.ts'
import { askOnce } from './round-trip.ts'
import { BatchedReads } from './batched-reads.ts'
import { lookUpCallers, lookUpDistributedCallers, prepareCallers } from './callers.ts'
import { connectionCounts, openPool, withClient } from './connection.ts'
import { databaseBytes, prepareQueries } from './console-queries.ts'
import { readShards, type ShardOfAccount } from './distribution.ts'
import { localSetting } from './local-settings.ts'
import { migrate } from './migrate.ts'
import { cannotCommit, isExhausted } from './errors.ts'
import { withRetries } from './retries.ts'
import type { StoreMetrics } from '../../store-metrics.ts'
import { StoreUnavailableError, type Store } from '../../store.ts'
import { sql } from '../../sql.ts'
import { closedError, createLedgerOperations, type NextId } from '../ledger-store.ts'
import { Ledger } from '../ledger.ts'
import { prepareLedgerReads } from '../reads/ledger-reads.ts'
import { findRows, ids } from '../reads/rows.ts'
import { mandateAccounts } from '../tables.ts'
import { prepareAgentFacts } from './agent-facts.ts'
import { createPostgresDriver } from './postgres-driver.ts'
import {
  distributedReader,
  ledgerReader,
  readerOn,
  readerOver,
  readPostgresSnapshot,
} from './postgres-reader.ts'
import { ledgerSteps } from './schema.ts'

export interface PostgresLedgerStoreOptions {
  /** The address of the database: `postgresql://user:password@host:port/name`. */
  readonly url: string
  readonly nextId: NextId
  /** Max calls in one transaction. */
  readonly maxBatch?: number | undefined
  /** How long an operation or a read may take, including retries. */
  readonly patienceMs?: number
  /** How long a query of the console may take. */
  readonly queryMs?: number
  /** Called with waits for a connection of over a second, in milliseconds. */
  readonly onWait?: ((waitedMs: number) => void) | undefined
  readonly metrics?: StoreMetrics | undefined
}

/** How many batches are written concurrently. */
const lanes = 2

/** When a second batch is started; the time is longer than a batch takes under load, including a retry. */
const besideBatch = { least: 32, stalledAfterMs: 30 }

/** How many writing connections are kept for rows that others have locked, and one spare. */
const otherWriters = 5

/** Commits a write that changes nothing. */
const probe = [
  { text: 'begin' },
  { text: `select ${localSetting('statement_timeout', '2000')}` },
  { text: 'update purser_schema set version = version' },
  { text: 'commit' },
]

/** Max cached accounts of mandates. */
const maxCachedAccounts = 65_536

/**
 * The store on a PostgreSQL database, for any number of processes. Upgrades the schema. Throws a `StoreOpenError` if the
 * database cannot be used.
 */
export async function openPostgresLedgerStore(options: PostgresLedgerStoreOptions): Promise<Store> {
  const shardOfAccount = await withClient(options.url, async (client, place) => {
    await migrate(client, place)
    await refuseUnfinishedCopy(client, place)
    return readShards(client, place)
  })
  return createStore(options, shardOfAccount)
}

function createStore(
  {
    url,
    nextId,
    maxBatch = 128,
    patienceMs = 10_000,
    queryMs = consoleQueryMs,
    onWait,
    metrics,
  }: PostgresLedgerStoreOptions,
  shardOfAccount: ShardOfAccount | undefined,
): Store {
  const counts = connectionCounts(shardOfAccount !== undefined)
  const writing = openPool(url, { max: counts.write, onWait, metrics, name: 'write' })
  const reading = openPool(url, {
    max: counts.read,
    query_timeout: patienceMs,
    onWait,
    metrics,
    name: 'read',
  })
  // Reads of the whole ledger have no time limit, and a separate connection.
  const auditing = openPool(url, { max: counts.audit, idleTimeoutMillis: 1_000 })
  // The console's queries take no connection from payments.
  const watching = openPool(url, {
    max: counts.console,
    query_timeout: queryMs * 2,
    metrics,
    name: 'console',
  })
  const health = new CommitHealth(() => askOnce(reading, probe))
  const commitTimes = new CommitTimes(() => ledger.waiting, metrics)
  const ledger = new Ledger({
    driver: createPostgresDriver(writing, shardOfAccount),
    stopwatch: { nowMs: () => performance.now(), sleep: (ms) => sleep(ms) },
    random: Math.random,
    maxBatch,
    maxWaiting,
    lanes: shardOfAccount ? counts.write - otherWriters : lanes,
    beside: shardOfAccount ? undefined : besideBatch,
    groupOf: shardOfAccount,
    patienceMs,
    onWritten: (batch) => commitTimes.add(batch),
    onFailed: (error) => {
      const code = error instanceof Error ? codeOf(error.cause) : ''
      if (cannotCommit(code)) health.failed()
      // While the server has no space, or its disk fails, a retry is useless.
      if (!isExhausted(code)) return error
      return new StoreUnavailableError(`PostgreSQL answers ${code}`, { retryAfterSeconds: 2, cause: error })
    },
  })
  const db = readerOn(reading)
  const ledgerReaderOf = shardOfAccount ? distributedReader : ledgerReader
  const retryingDb = readerOver((text, values) => retry(() => db.query(text, values)))
  const askForConsole = prepareQueries(watching, { retry, timeoutMs: queryMs })
  const callers = prepareCallers(reading, {
    maxWaiting,
    retry,
    lookUp: shardOfAccount ? lookUpDistributedCallers(shardOfAccount) : lookUpCallers,
  })
  const accountsOfMandates = new Map<string, string>()
  const accountLookUps = new BatchedReads<string, string | undefined>({
    maxBatch: 256,
    maxWaiting,
    read: async (mandateIds) => {
      const isOne = sql`mandate_id in (${ids('mandate', [...new Set(mandateIds)])})`
      const found = await findRows(retryingDb, mandateAccounts, isOne)
      if (accountsOfMandates.size + found.length > maxCachedAccounts) accountsOfMandates.clear()
      for (const { mandateId, accountId } of found) accountsOfMandates.set(mandateId, accountId)
      return mandateIds.map((id) => accountsOfMandates.get(id))
    },
  })
  let closing: Promise<void> | undefined
  let isEnded = false

  async function retry<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    return withRetries({ deadlineMs: performance.now() + patienceMs, random: Math.random }, work)
  }

  async function read<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    if (closing) throw closedError()
    if (reading.waitingCount > maxWaiting) {
      throw new StoreUnavailableError('too many reads wait for the store', { retryAfterSeconds: 1 })
    }
    return retry(work)
  }

  /** The console's queries are retried one by one. */
  async function readForConsole<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    if (closing) throw closedError()
    return work()
  }

  const readAgentFacts = prepareAgentFacts(reading, {
    maxWaiting,
    retry,
    isDistributed: shardOfAccount !== undefined,
  })
  const operations = createLedgerOperations({
    ledger,
    nextId,
    // It never changes, so it is cached.
    accountOfMandate: (id) => accountsOfMandates.get(id) ?? accountLookUps.find(id),
    db: retryingDb,
  })
  const reads = prepareLedgerReads({
    db: ledgerReaderOf(db),
    consoleDb: ledgerReaderOf(readerOver(askForConsole)),
    readSnapshot: (work) => readPostgresSnapshot(auditing, work),
    read,
    readForConsole,
  })

  async function close(): Promise<void> {
    await operations.close()
    await Promise.all([callers.drain(), accountLookUps.drain()])
    isEnded = true
    await Promise.all([writing, reading, auditing, watching].map((pool) => pool.end()))
  }

  return {
    ...operations,
    ...reads,
    checkReady: () =>
      read(async () => {
        const { rows } = await reading.query<{ version: number; is_read_only: string; is_copied: boolean }>(
          `select version, current_setting('transaction_read_only') as is_read_only,
             to_regclass('${copyMark}') is not null as is_copied from purser_schema`,
        )
        if (rows[0]?.is_read_only === 'on') {
          throw new StoreUnavailableError('the database is read-only, like a standby', {
            retryAfterSeconds: 5,
          })
        }
        // The copy began after the start of this service.
        if (rows[0]?.is_copied) {
          throw new StoreUnavailableError('the database contains an unfinished copy', {
            retryAfterSeconds: 5,
          })
        }
        if (rows[0]?.version === ledgerSteps.length) return health.check()
        throw new StoreUnavailableError(
          `the database has schema ${rows[0]?.version}, and this release needs ${ledgerSteps.length}`,
          { retryAfterSeconds: 5 },
        )
      }),
    readAgentFacts: async (question) => {
      if (closing) throw closedError()
      return readAgentFacts(question)
    },
    close: () => (closing ??= close()),
    // The operation itself reads the key.
    confirmsCallers: true,
    authenticate: async (secretHash): Promise<Caller | undefined> => {
      // Works until every call is answered: after a refused capture, its caller's key is looked up.
      if (isEnded) throw closedError()
      return callers.find(secretHash)
    },
    readFigures: async () => ({
      kind: 'postgres',
      schemaVersion: ledgerSteps.length,
      ...commitTimes.figures,
      ledgerBytes: await databaseBytes(askForConsole),
    }),
  }
}

import { Kysely, PostgresDialect } from 'kysely'
import type { Pool, QueryConfig } from 'pg'

import type { Caller } from '../../domain/records.ts'
import { CommitHealth } from '../commit-health.ts'
import { CommitTimes } from '../commit-times.ts'
import { kyselyOver, type RunQuery } from '../console/dialect.ts'
import { prepareConsoleReads } from '../console/reads.ts'
import { consoleQueryMs } from '../console/store.ts'
import { GroupCommit } from '../group-commit.ts'
import { refuseUnfinishedCopy } from '../copy/unfinished-copy.ts'
import { preparePaidCategories } from '../paid-categories.ts'
import { prepareReads } from '../reads.ts'
import type { Tables } from '../rows.ts'
import { codeOf } from '../error-code.ts'
import type { StoreMetrics } from '../store-metrics.ts'
import {
  StoreUnavailableError,
  type Capture,
  type CaptureAttempt,
  type CaptureOutcome,
  type LateAttempt,
  type LateOutcome,
  type Store,
} from '../store.ts'
import { createAccount, issueApiKey, moveAccount, revokeApiKey } from './account-acts.ts'
import { addTallies, prepareActivityActs } from './activity-acts.ts'
import { createAgent, revokeAgent } from './agent-acts.ts'
import { readAgentFacts } from './agent-facts.ts'
import { recordEvent } from './audit-acts.ts'
import { prepareAccountSweep } from './account-sweep.ts'
import { prepareCallers } from '../ledger/postgres/callers.ts'
import { lookUpCallers, lookUpCallersByAccount } from './caller-lookups.ts'
import { connectionCounts } from '../ledger/postgres/connection-counts.ts'
import { openPool, storable, withClient } from '../ledger/postgres/connection.ts'
import { databaseBytes, prepareQueries } from '../ledger/postgres/console-queries.ts'
import { consoleDialect } from './console-dialect.ts'
import { prepareHoldSweep } from './hold-acts.ts'
import { refuseUnfitDistribution } from '../ledger/postgres/distribution.ts'
import { createMandate, moveMandate } from './mandate-acts.ts'
import { migrate } from '../ledger/postgres/migrate.ts'
import { migrations } from './schema.ts'
import type { Payment, PaymentOutcome } from './payment-decisions.ts'
import { beside, PaymentQueues, spareConnections } from './payment-queues.ts'
import { prepareRecordAccounts } from './record-accounts.ts'
import { voidProof, voidSomeHolds } from './proof-acts.ts'
import { claimDomain, createSeller, releaseDomain } from './seller-acts.ts'
import { createSession, endSession, endSessionById, touchSession } from './session-acts.ts'
import { findAccount, findSession } from './session-reads.ts'
import { cannotCommit, withRetries } from '../ledger/postgres/retries.ts'
import { prepareTransactions, type InTransaction, type Transaction } from './transaction.ts'

export interface PostgresStoreOptions {
  /** Where the database is, as `postgresql://user:password@host:port/name`. */
  readonly url: string
  /** False writes each payment as a transaction of its own, as a measure for what group commit brings. */
  readonly groupCommit?: boolean
  /** Forms batches for each account by itself, as an engine needs that spreads accounts over machines. */
  readonly accountLanes?: boolean
  /** Connections that write, at most; 7, or 16 with account lanes. */
  readonly writeConnections?: number
  /** Connections that read, at most. */
  readonly readConnections?: number
  /** How long a request may wait for its act or its read, every attempt included. */
  readonly patienceMs?: number
  /** Is told of each wait for a connection that took over a second, in milliseconds. */
  readonly onWait?: ((waitedMs: number) => void) | undefined
  /** Where the store counts what it does, if anywhere. */
  readonly metrics?: StoreMetrics | undefined
  /** Spreads the attempts of acts that met; from 0 to below 1. */
  readonly random?: () => number
}

/** How long a probe may take to commit. */
const probeMs = 2_000
/** Most acts that wait for a transaction, and most reads that wait for a connection. */
const maxWaiting = 8_192
/**
 * The store on a PostgreSQL database, for any number of processes, with its schema brought up to date.
 * Throws a `StoreOpenError` when the database cannot be used.
 */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<Store> {
  await withClient(options.url, async (client, place) => {
    await migrate(client, place, migrations)
    await refuseUnfinishedCopy(client, place)
    await refuseUnfitDistribution(client, place, options)
  })
  return createStore(options)
}

function createStore({
  url,
  groupCommit = true,
  accountLanes = false,
  writeConnections = connectionCounts(accountLanes).write,
  readConnections = connectionCounts(accountLanes).read,
  patienceMs = 10_000,
  random = Math.random,
  onWait,
  metrics,
}: PostgresStoreOptions): Store {
  const counts = connectionCounts(accountLanes)
  const writing = openPool(url, { max: writeConnections, onWait, metrics, name: 'write' })
  const reading = openPool(url, {
    max: readConnections,
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
  const pools = [writing, reading, auditing, watching]

  const transact = prepareTransactions(writing, { random, keepsPlans: !accountLanes })
  const health = new CommitHealth(() =>
    transact({ deadlineMs: performance.now() + probeMs }, (transaction) =>
      transaction.commit({ text: 'update purser_schema set version = version' }),
    ),
  )
  const inTransaction: InTransaction = async (limits, work) => {
    try {
      return await transact(limits, work)
    } catch (error) {
      if (error instanceof StoreUnavailableError && cannotCommit(codeOf(error.cause))) health.failed()
      throw error
    }
  }
  const prepareSweep = accountLanes ? prepareAccountSweep : prepareHoldSweep
  const releaseExpiredHolds = prepareSweep(reading, inTransaction)
  const readingDb = kyselyOn(reading)
  const lists = prepareReads(readingDb, preparePaidCategories(readingDb, consoleDialect))
  const audits = prepareReads(kyselyOn(auditing))

  const addUpActivity = prepareActivityActs(reading, inTransaction)
  const askForConsole = prepareQueries(watching, { retry })
  const askUnlessClosed: RunQuery = async (text, values) => {
    refuseClosed()
    return askForConsole(text, values)
  }
  const consoleReads = prepareConsoleReads(
    kyselyOver(askUnlessClosed, new PostgresDialect({ pool: watching })),
    consoleDialect,
  )
  const commitTimes = new CommitTimes()
  const payments = new PaymentQueues({
    pool: writing,
    inTransaction,
    commitTimes,
    maxWaiting,
    groupCommit,
    accountLanes,
    writeConnections,
    metrics,
  })
  writing.on('connect', () => payments.forgetPaidSellers())
  const resourceActs = new GroupCommit<() => Promise<unknown>, unknown>({
    commitTimes,
    metrics: metrics?.addQueue('resources'),
    writeBatch: async ([act]) => [{ value: await act?.() }],
    maxBatch: 1,
    maxWaiting,
    lanes: accountLanes ? spareConnections : Math.max(1, writeConnections - 1),
  })
  metrics?.addDepth({ name: 'resources', limit: maxWaiting, waiting: () => resourceActs.waiting })
  const callers = prepareCallers(reading, {
    maxWaiting,
    beside,
    retry,
    lookUp: accountLanes ? lookUpCallersByAccount : lookUpCallers,
  })
  const recordAccounts = prepareRecordAccounts(reading, { maxWaiting, retry })

  let closing: Promise<void> | undefined
  let isEnded = false
  /** Captures that were accepted: one that is not as expected may have to be decided yet. */
  let capturing = 0
  let onCaptured: (() => void) | undefined

  function refuseClosed(isClosed = closing !== undefined): void {
    if (isClosed) throw new StoreUnavailableError('the store is closed', { retryAfterSeconds: 1 })
  }

  async function pay<Outcome extends PaymentOutcome>(
    payment: Payment,
    deadlineMs = performance.now() + patienceMs,
  ): Promise<Outcome> {
    refuseClosed()
    return payments.pay(payment, deadlineMs)
  }

  async function capture(call: Capture, confirmCaller?: () => Promise<boolean>): Promise<CaptureOutcome> {
    refuseClosed()
    capturing += 1
    try {
      return await captureAccepted(call, confirmCaller)
    } finally {
      capturing -= 1
      if (capturing === 0) onCaptured?.()
    }
  }

  async function captureAccepted(
    call: Capture,
    confirmCaller?: () => Promise<boolean>,
  ): Promise<CaptureOutcome> {
    const deadlineMs = performance.now() + patienceMs
    const accountId = await accountOfProof(call)
    const located = { ...storableTexts(call), accountId }
    const expected = await payments.captureAsExpected(located, deadlineMs)
    if (expected === 'captured') return { outcome: 'captured', transactionId: call.transactionId }
    const mayBeUnderWay = expected === 'unknown'
    const isKeyRevoked = confirmCaller !== undefined && !(await confirmCaller())
    if (isKeyRevoked && !mayBeUnderWay) return { outcome: 'refused', code: 'invalid_api_key' }
    return payments.pay({ kind: 'capture', capture: located, mayBeUnderWay, isKeyRevoked }, deadlineMs)
  }

  async function settleLate(attempt: LateAttempt): Promise<LateOutcome> {
    const accountId = await accountOfProof(attempt)
    return pay({ kind: 'late', attempt: { ...storableTexts(attempt), accountId } })
  }

  /** The account whose hold a proof names; a proof of an unknown mandate has no hold anywhere. */
  async function accountOfProof({ caller, mandateId }: CaptureAttempt): Promise<string> {
    return (await recordAccounts.find(mandateId)) ?? caller.accountId
  }

  /** The outcome of an act on a resource, once it is durable. */
  async function commit<Outcome>(act: (transaction: Transaction) => Promise<Outcome>): Promise<Outcome> {
    refuseClosed()
    const deadlineMs = performance.now() + patienceMs
    return resourceActs.submit(() => inTransaction({ deadlineMs }, act)) as Promise<Outcome>
  }

  async function retry<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    return withRetries({ deadlineMs: performance.now() + patienceMs, random }, work)
  }

  /** A read's answer, from what is committed. */
  async function read<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    refuseClosed()
    if (reading.waitingCount > maxWaiting) {
      throw new StoreUnavailableError('too many reads wait for the store', { retryAfterSeconds: 1 })
    }
    return retry(work)
  }

  async function rows<Row>(query: QueryConfig): Promise<Row[]> {
    const answer = await reading.query({ ...query, values: (query.values ?? []).map(storable) })
    return answer.rows as Row[]
  }

  async function close(): Promise<void> {
    if (capturing > 0) await new Promise<void>((resolve) => (onCaptured = resolve))
    await Promise.all([payments.drain(), resourceActs.drain(), callers.drain(), recordAccounts.drain()])
    isEnded = true
    await Promise.all(pools.map((pool) => pool.end()))
  }

  return {
    checkReady: () =>
      read(async () => {
        const [schema] = await rows<{ version: number }>({ text: 'select version from purser_schema' })
        if (schema?.version === migrations.length) return health.check()
        throw new StoreUnavailableError(
          `the database has schema ${schema?.version}, and this release needs ${migrations.length}`,
          { retryAfterSeconds: 5 },
        )
      }),
    close: () => (closing ??= close()),

    createAccount: (...args) => commit((transaction) => createAccount(transaction, ...args)),
    moveAccount: (...args) => commit((transaction) => moveAccount(transaction, ...args)),
    voidSomeHolds: (...args) => commit((transaction) => voidSomeHolds(transaction, ...args)),
    issueApiKey: (...args) => commit((transaction) => issueApiKey(transaction, ...args)),
    revokeApiKey: (...args) => commit((transaction) => revokeApiKey(transaction, ...args)),
    createAgent: (...args) => commit((transaction) => createAgent(transaction, ...args)),
    revokeAgent: (...args) => commit((transaction) => revokeAgent(transaction, ...args)),
    createMandate: (...args) => commit((transaction) => createMandate(transaction, ...args)),
    moveMandate: (...args) => commit((transaction) => moveMandate(transaction, ...args)),
    createSeller: (...args) => commit((transaction) => createSeller(transaction, ...args)),
    claimDomain: (...args) => commit((transaction) => claimDomain(transaction, ...args)),
    releaseDomain: (...args) => commit((transaction) => releaseDomain(transaction, ...args)),
    issueProof: (hold, requestKey) =>
      pay({ kind: 'proof', hold: { ...hold, resourceUrl: storable(hold.resourceUrl) }, requestKey }),
    voidProof: (...args) => commit((transaction) => voidProof(transaction, ...args)),
    capture,
    settleLate,
    evaluate: (proposal) => pay({ kind: 'evaluation', proposal }),
    releaseExpiredHolds: (nowMs, maxMandates) =>
      read(() => releaseExpiredHolds(nowMs, maxMandates, performance.now() + patienceMs)),

    isEmpty: () => read(async () => (await rows({ text: 'select 1 from accounts limit 1' })).length === 0),
    confirmsCallers: !accountLanes,
    authenticate: async (secretHash): Promise<Caller | undefined> => {
      // Until the last capture is decided, which may have to look at the key of its caller.
      refuseClosed(isEnded)
      return callers.submit(secretHash)
    },
    readAgentFacts: (question) => read(() => readAgentFacts(reading, question)),
    findAgent: (agent) => read(() => lists.findAgent(agent)),
    findMandate: (mandate) => read(() => lists.findMandate(mandate)),
    findTransaction: (...args) => read(() => lists.findTransaction(...args)),
    findProof: (...args) => read(() => lists.findProof(...args)),
    ownsDomain: (question) => read(() => lists.ownsDomain(question)),
    listAccounts: (...args) => read(() => lists.listAccounts(...args)),
    listSessions: (...args) => read(() => lists.listSessions(...args)),
    listApiKeys: (...args) => read(() => lists.listApiKeys(...args)),
    listAgents: (...args) => read(() => lists.listAgents(...args)),
    listMandates: (...args) => read(() => lists.listMandates(...args)),
    findSeller: (...args) => read(() => lists.findSeller(...args)),
    listSellers: (...args) => read(() => lists.listSellers(...args)),
    listAuditEvents: (...args) => read(() => lists.listAuditEvents(...args)),
    findLedgerFaults: () => read(() => audits.findLedgerFaults()),

    createSession: (...args) => commit((transaction) => createSession(transaction, ...args)),
    touchSession: (...args) => commit((transaction) => touchSession(transaction, ...args)),
    endSessionById: (...args) => commit((transaction) => endSessionById(transaction, ...args)),
    endSession: (...args) => commit((transaction) => endSession(transaction, ...args)),
    stopMandates: () => Promise.reject(new Error('the ledger stops mandates')),
    continueStops: () => Promise.resolve(0),
    resumeMandates: () => Promise.reject(new Error('the ledger resumes mandates')),
    recordEvent: (...args) => commit((transaction) => recordEvent(transaction, ...args)),
    addUpActivity: () => read(() => addUpActivity(performance.now() + patienceMs)),
    addTallies: (...args) => commit((transaction) => addTallies(transaction, ...args)),

    findSession: (session) => read(() => findSession(reading, session)),
    findAccount: (account) => read(() => findAccount(reading, account)),
    ...consoleReads,
    readFigures: async () => ({
      kind: 'postgres',
      schemaVersion: migrations.length,
      waiting: payments.waiting + resourceActs.waiting,
      mostWaiting: maxWaiting,
      commits: commitTimes.count,
      commitMs: commitTimes.latestMs,
      ledgerBytes: await databaseBytes(askForConsole),
    }),
  }
}

/** The shared reads, over a pool. */
function kyselyOn(pool: Pool): Kysely<Tables> {
  const connect = async () => {
    const client = await pool.connect()
    return {
      query: (text: string, values: readonly unknown[]) => client.query(text, values.map(storable)),
      release: () => client.release(),
    }
  }
  return new Kysely<Tables>({
    dialect: new PostgresDialect({ pool: { connect, end: () => pool.end() } as never }),
  })
}

/** An attempt as PostgreSQL can compare it: its texts may hold any character. */
function storableTexts<Attempt extends CaptureAttempt>(attempt: Attempt): Attempt {
  const { merchantDomain, resourceUrl } = attempt
  return { ...attempt, merchantDomain: storable(merchantDomain), resourceUrl: storable(resourceUrl) }
}

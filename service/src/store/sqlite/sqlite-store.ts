import { stat } from 'node:fs/promises'

import { Kysely, SqliteDialect } from 'kysely'

import type { Caller } from '../../domain/records.ts'
import { CommitHealth } from '../commit-health.ts'
import { CommitTimes } from '../commit-times.ts'
import { kyselyOver } from '../console/dialect.ts'
import { prepareConsoleReads } from '../console/reads.ts'
import { consoleQueryMs, maxConsoleQueries as maxQueries } from '../console/store.ts'
import { codeOf } from '../error-code.ts'
import { GroupCommit } from '../group-commit.ts'
import { preparePaidCategories } from '../paid-categories.ts'
import { prepareReads } from '../reads.ts'
import { toCaller, type ApiKeyRow, type Tables } from '../rows.ts'
import type { StoreMetrics } from '../store-metrics.ts'
import { StoreOpenError, StoreUnavailableError, type Store } from '../store.ts'
import { KnownCallers } from '../ledger/sqlite/known-callers.ts'
import { LedgerThread } from './ledger-thread.ts'
import { explainFailure } from '../ledger/sqlite/explain-failure.ts'
import { createLedger, type ActName, type Call, type Outcome } from './ledger.ts'
import { consoleDialect } from './console-dialect.ts'
import { openSqliteFile, type OpenedFile } from '../ledger/sqlite/open.ts'
import { QueryThread } from '../ledger/sqlite/query-thread.ts'
import { migrations } from './schema.ts'
import { prepareSessionReads } from './session-reads.ts'

export interface SqliteStoreOptions {
  /** The database file; its folder is made when it is missing. */
  readonly path: string
  /**
   * Whether the ledger is written in a thread of its own, as in a service under load; false writes it in
   * this thread, which starts sooner.
   */
  readonly ownThread?: boolean
  /** False writes each act as a transaction of its own, as a measure for what group commit brings. */
  readonly groupCommit?: boolean
  /** Is told why, when the thread of the ledger ends by itself: nothing can be written any more, but by a new start. */
  readonly onEnd?: (cause: unknown) => void
  /** Where the store counts what it does, if anywhere. */
  readonly metrics?: StoreMetrics | undefined
}

/** Most acts in one transaction, so that it takes a few milliseconds at the most. */
const maxBatch = 128
/** Most acts that wait for a transaction. */
const maxWaiting = 8_192

/** The acts that change which key opens what. */
const keyActs: ReadonlySet<ActName> = new Set(['createAccount', 'moveAccount', 'issueApiKey', 'revokeApiKey'])

/** The embedded store, on one SQLite file. Throws a `StoreOpenError` when the file cannot be used. */
export function openSqliteStore(options: SqliteStoreOptions): Store {
  const file = openSqliteFile(options.path, migrations)
  try {
    return createStore(file, options)
  } catch (error) {
    file.close()
    const code = codeOf(error)
    if (!code.startsWith('SQLITE_')) throw error
    throw new StoreOpenError(
      `${options.path} cannot be used (SQLite answers ${code}); restore a backup with purser restore, or name another file with PURSER_DATABASE=sqlite:/path/purser.db`,
    )
  }
}

function createStore(
  { database: db, path, close }: OpenedFile,
  { ownThread = false, groupCommit = true, onEnd, metrics }: SqliteStoreOptions,
): Store {
  const ownDb = new Kysely<Tables>({ dialect: new SqliteDialect({ database: db }) })
  const reads = prepareReads(ownDb, preparePaidCategories(ownDb, consoleDialect))
  const selectCaller = db.prepare<[Buffer], ApiKeyRow>(`
    select * from api_keys
    where (account_id, id) = (select account_id, key_id from api_key_hashes where secret_hash = ?)
      and revoked_at_ms is null
      and (select disabled_at_ms from accounts where id = api_keys.account_id) is null`)
  const anyAccount = db.prepare('select 1 from accounts limit 1').pluck()

  const commitTimes = new CommitTimes()
  const queries = new QueryThread({ path, timeoutMs: consoleQueryMs, maxWaiting: maxQueries })
  const consoleReads = prepareConsoleReads(
    kyselyOver(
      (text, values) => read(() => queries.query(text, values)),
      new SqliteDialect({ database: db }),
    ),
    consoleDialect,
  )
  const { findSession, findAccount } = prepareSessionReads(db)

  const limits = {
    maxBatch: groupCommit ? maxBatch : 1,
    maxWaiting,
    commitTimes,
    metrics: metrics?.addQueue('ledger'),
  }
  const health = new CommitHealth(() => act('probeCommit'))
  const ledger = ownThread ? openThread() : openHere()
  const callers = new KnownCallers({ lookUp: findCaller, untilDurable: () => ledger.untilDurable() })
  metrics?.addDepth({ name: 'ledger', limit: maxWaiting, waiting: () => ledger.waiting })
  let isClosed = false

  /** The ledger in this thread. */
  function openHere() {
    const here = createLedger(db)
    const queue = new GroupCommit<Call, unknown>({
      ...limits,
      writeBatch: (calls) => {
        const settled = here.write(calls)
        if (settled.some((one) => 'error' in one && one.error instanceof StoreUnavailableError))
          health.failed()
        return settled
      },
    })
    return {
      submit: (call: Call) => queue.submit(call),
      drain: () => queue.drain(),
      get waiting() {
        return queue.waiting
      },
      untilDurable: () => undefined,
      checkReady: () => undefined,
      close: () => Promise.resolve(),
    }
  }

  function openThread() {
    return new LedgerThread({ path, ...limits, onEnd, onFailure: () => health.failed() })
  }

  /** The act's outcome, once the transaction that it is part of is durable. */
  async function act<Name extends ActName>(
    name: Name,
    ...input: Call<Name>['input']
  ): Promise<Outcome<Name>> {
    if (isClosed) throw new StoreUnavailableError('the store is closed', { retryAfterSeconds: 1 })
    const outcome = ledger.submit({ act: name, input }) as Promise<Outcome<Name>>
    // Before its answer leaves, and also where it is unknown what became of it. Only this process writes the file, and
    // nothing but these acts changes a key.
    return keyActs.has(name) ? outcome.finally(() => callers.forget()) : outcome
  }

  function findCaller(secretHash: Buffer): Caller | undefined {
    const row = selectCaller.get(secretHash)
    return row && toCaller(row)
  }

  /** A read's answer, from what is committed, once that is durable. */
  function read<Answer>(query: () => Answer | Promise<Answer>): Promise<Answer> {
    return ask(async () => {
      const answer = await query()
      await ledger.untilDurable()
      return answer
    })
  }

  /** An answer of the file, if the store is open. */
  async function ask<Answer>(query: () => Promise<Answer>): Promise<Answer> {
    if (isClosed) throw new StoreUnavailableError('the store is closed', { retryAfterSeconds: 1 })
    try {
      return await query()
    } catch (error) {
      throw explainFailure(error)
    }
  }

  return {
    checkReady: async () => {
      await read(() => void anyAccount.get())
      ledger.checkReady()
      await health.check()
    },
    close: async () => {
      if (isClosed) return
      await ledger.drain()
      isClosed = true
      await queries.close()
      await ledger.close()
      close()
    },

    createAccount: (...input) => act('createAccount', ...input),
    moveAccount: (...input) => act('moveAccount', ...input),
    voidSomeHolds: (...input) => act('voidSomeHolds', ...input),
    issueApiKey: (...input) => act('issueApiKey', ...input),
    revokeApiKey: (...input) => act('revokeApiKey', ...input),
    createAgent: (...input) => act('createAgent', ...input),
    revokeAgent: (...input) => act('revokeAgent', ...input),
    createMandate: (...input) => act('createMandate', ...input),
    moveMandate: (...input) => act('moveMandate', ...input),
    createSeller: (...input) => act('createSeller', ...input),
    claimDomain: (...input) => act('claimDomain', ...input),
    releaseDomain: (...input) => act('releaseDomain', ...input),
    issueProof: (...input) => act('issueProof', ...input),
    voidProof: (...input) => act('voidProof', ...input),
    capture: (capture) => act('capture', capture),
    settleLate: (...input) => act('settleLate', ...input),
    evaluate: (...input) => act('evaluate', ...input),
    releaseExpiredHolds: (...input) => act('releaseExpiredHolds', ...input),
    readAgentFacts: (...input) => act('readAgentFacts', ...input),

    isEmpty: () => read(() => anyAccount.get() === undefined),
    confirmsCallers: false,
    authenticate: (secretHash) => ask(() => callers.find(secretHash)),
    findAgent: (agent) => read(() => reads.findAgent(agent)),
    findMandate: (mandate) => read(() => reads.findMandate(mandate)),
    findTransaction: (...input) => read(() => reads.findTransaction(...input)),
    findProof: (...input) => read(() => reads.findProof(...input)),
    ownsDomain: (question) => read(() => reads.ownsDomain(question)),
    listAccounts: (...input) => read(() => reads.listAccounts(...input)),
    listSessions: (...input) => read(() => reads.listSessions(...input)),
    listApiKeys: (...input) => read(() => reads.listApiKeys(...input)),
    listAgents: (...input) => read(() => reads.listAgents(...input)),
    listMandates: (...input) => read(() => reads.listMandates(...input)),
    findSeller: (...input) => read(() => reads.findSeller(...input)),
    listSellers: (...input) => read(() => reads.listSellers(...input)),
    listAuditEvents: (...input) => read(() => reads.listAuditEvents(...input)),
    findLedgerFaults: () => read(() => reads.findLedgerFaults()),

    createSession: (...input) => act('createSession', ...input),
    touchSession: (...input) => act('touchSession', ...input),
    endSession: (...input) => act('endSession', ...input),
    endSessionById: (...input) => act('endSessionById', ...input),
    stopMandates: () => Promise.reject(new Error('the ledger stops mandates')),
    continueStops: () => Promise.resolve(0),
    resumeMandates: () => Promise.reject(new Error('the ledger resumes mandates')),
    recordEvent: (...input) => act('recordEvent', ...input),
    addUpActivity: () => act('addUpActivity'),
    addTallies: (...input) => act('addTallies', ...input),

    findSession: (session) => read(() => findSession(session)),
    findAccount: (account) => read(() => findAccount(account)),
    ...consoleReads,
    readFigures: async () => ({
      kind: 'sqlite',
      schemaVersion: migrations.length,
      waiting: ledger.waiting,
      mostWaiting: maxWaiting,
      commits: commitTimes.count,
      commitMs: commitTimes.latestMs,
      ledgerBytes: await sizeOf(path),
    }),
  }
}

/** The bytes of the file and of the log beside it. */
async function sizeOf(path: string): Promise<number> {
  const sizes = await Promise.all(
    [path, `${path}-wal`].map((one) =>
      stat(one).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}

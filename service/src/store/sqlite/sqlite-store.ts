import { Kysely, SqliteDialect } from 'kysely'

import { prepareReads } from '../reads.ts'
import type { Caller } from '../../domain/records.ts'
import { toCaller, type ApiKeyRow, type Tables } from '../rows.ts'
import { GroupCommit, type Settled } from '../group-commit.ts'
import { codeOf } from '../error-code.ts'
import { StoreOpenError, StoreUnavailableError, type Store } from '../store.ts'
import { prepareAccountActs } from './account-acts.ts'
import { prepareAgentActs } from './agent-acts.ts'
import { prepareAgentFacts } from './agent-facts.ts'
import { prepareAuditActs } from './audit-acts.ts'
import { startCheckpoints } from './checkpoints.ts'
import { prepareHoldActs } from './hold-acts.ts'
import { prepareMandateActs } from './mandate-acts.ts'
import { openSqliteFile, type OpenedFile } from './open.ts'
import { preparePaymentActs } from './payment-acts.ts'
import { prepareSellerActs } from './seller-acts.ts'
import { prepareTransactionLists } from './transaction-lists.ts'

export interface SqliteStoreOptions {
  /** The database file; its folder is made when it is missing. */
  readonly path: string
  /** False writes each act as a transaction of its own, as a measure for what group commit brings. */
  readonly groupCommit?: boolean
}

/** Most acts in one transaction, so that it takes a few milliseconds at the most. */
const maxBatch = 128
/** Most keys that are remembered between two commits. */
const maxAuthenticated = 1_000
/** How busy a store must have been before a thread is started for its checkpoints. */
const commitsBeforeCheckpoints = 500
/** Most acts that wait for a transaction. */
const maxWaiting = 8_192

/** The embedded store, on one SQLite file. Throws a `StoreOpenError` when the file cannot be used. */
export function openSqliteStore(options: SqliteStoreOptions): Store {
  const file = openSqliteFile(options.path)
  try {
    return createStore(file, options)
  } catch (error) {
    file.close()
    const code = codeOf(error)
    if (!code.startsWith('SQLITE_')) throw error
    throw new StoreOpenError(
      `${options.path} cannot be used (SQLite answers ${code}); restore it from a backup, or name another file with PURSER_DATABASE=sqlite:/path/purser.db`,
    )
  }
}

function createStore(
  { database: db, close }: OpenedFile,
  { path, groupCommit = true }: SqliteStoreOptions,
): Store {
  const audit = prepareAuditActs(db)
  const holds = prepareHoldActs(db)
  const accounts = prepareAccountActs(db, audit)
  const agents = prepareAgentActs(db, audit, holds)
  const mandates = prepareMandateActs(db, audit, holds, agents)
  const sellers = prepareSellerActs(db, audit)
  const acts = { ...audit, ...holds, ...agents, ...mandates, ...sellers }
  const transactionLists = prepareTransactionLists(db)
  const payments = preparePaymentActs(db, acts)
  const agentFacts = prepareAgentFacts(db, { ...acts, ...transactionLists })
  const lists = prepareReads(new Kysely<Tables>({ dialect: new SqliteDialect({ database: db }) }))

  const selectCaller = db.prepare<[Buffer], ApiKeyRow>(`
    select * from api_keys
    where (account_id, id) = (select account_id, key_id from api_key_hashes where secret_hash = ?)
      and revoked_at_ms is null`)
  const anyAccount = db.prepare('select 1 from accounts limit 1').pluck()

  const queue = new GroupCommit<() => unknown, unknown>({
    writeBatch,
    maxBatch,
    maxWaiting,
  })
  let isClosed = false
  let commits = 0
  let checkpoints: ReturnType<typeof startCheckpoints> | undefined

  /**
   * Writes the acts as one transaction. When one of them throws, the whole is undone and each is written
   * by itself, so that a bad row never fails its neighbours; acts decide on what they read, so writing
   * them again is safe.
   */
  function writeBatch(batch: readonly (() => unknown)[]): Settled<unknown>[] {
    try {
      return inTransaction(() => batch.map((act) => ({ value: act() })))
    } catch (error) {
      const failure = explainFailure(error)
      if (batch.length === 1 || failure instanceof StoreUnavailableError) {
        return batch.map(() => ({ error: failure }))
      }
      return batch.flatMap((act) => writeBatch([act]))
    }
  }

  function inTransaction<Result>(work: () => Result): Result {
    db.exec('begin immediate')
    try {
      const result = work()
      const recorded = payments.takeRecorded()
      const settleLists = transactionLists.writeSome(recorded.length)
      authenticated.clear()
      db.exec('commit')
      commits += 1
      if (commits === commitsBeforeCheckpoints) checkpoints = startCheckpoints(path)
      settleLists()
      transactionLists.add(recorded)
      return result
    } catch (error) {
      if (db.inTransaction) db.exec('rollback')
      payments.takeRecorded()
      throw error
    }
  }

  /** The act's outcome, once the transaction that it is part of is durable. */
  async function commit<Outcome>(act: () => Outcome): Promise<Outcome> {
    if (isClosed) throw new StoreUnavailableError('the store is closed', { retryAfterSeconds: 1 })
    if (groupCommit) return queue.submit(act) as Promise<Outcome>
    const [settled] = writeBatch([act])
    if (!settled || 'error' in settled) throw settled?.error ?? new Error('the act has no outcome')
    return settled.value as Outcome
  }

  /**
   * Keys that were looked up since the last commit. Only this process writes the file, and only by
   * commits, so a look-up stands until the next one; the requests that arrive together share it.
   */
  const authenticated = new Map<string, Caller | undefined>()

  function authenticate(text: string, secretHash: Buffer): Caller | undefined {
    if (authenticated.has(text)) return authenticated.get(text)
    const row = selectCaller.get(secretHash)
    const caller = row && toCaller(row)
    // Bounded against a flood of wrong keys between two commits.
    if (authenticated.size < maxAuthenticated) authenticated.set(text, caller)
    return caller
  }

  /** A read's answer, from what is committed. */
  async function read<Answer>(query: () => Answer | Promise<Answer>): Promise<Answer> {
    if (isClosed) throw new StoreUnavailableError('the store is closed', { retryAfterSeconds: 1 })
    try {
      return await query()
    } catch (error) {
      throw explainFailure(error)
    }
  }

  return {
    checkReady: () => read(() => void anyAccount.get()),
    close: async () => {
      if (isClosed) return
      await queue.drain()
      isClosed = true
      await checkpoints?.stop()
      close()
    },

    createAccount: (...args) => commit(() => accounts.createAccount(...args)),
    issueApiKey: (...args) => commit(() => accounts.issueApiKey(...args)),
    revokeApiKey: (...args) => commit(() => accounts.revokeApiKey(...args)),
    createAgent: (...args) => commit(() => agents.createAgent(...args)),
    revokeAgent: (...args) => commit(() => agents.revokeAgent(...args)),
    createMandate: (...args) => commit(() => mandates.createMandate(...args)),
    moveMandate: (...args) => commit(() => mandates.moveMandate(...args)),
    createSeller: (...args) => commit(() => sellers.createSeller(...args)),
    issueProof: (...args) => commit(() => payments.issueProof(...args)),
    capture: (...args) => commit(() => payments.capture(...args)),
    evaluate: (...args) => commit(() => payments.evaluate(...args)),
    releaseExpiredHolds: (...args) => commit(() => holds.releaseExpiredHolds(...args)),

    isEmpty: () => read(() => anyAccount.get() === undefined),
    authenticate: (secretHash) => read(() => authenticate(secretHash.toString('latin1'), secretHash)),
    findCapture: (attempt) => read(() => payments.findCapture(attempt)),
    readAgentFacts: (question) => read(() => agentFacts.readAgentFacts(question)),
    findAgent: (agent) => read(() => agents.findAgent(agent)),
    findMandate: (mandate) => read(() => mandates.findMandate(mandate)),
    findTransaction: (...args) => read(() => lists.findTransaction(...args)),
    findProof: (...args) => read(() => lists.findProof(...args)),
    listApiKeys: (...args) => read(() => lists.listApiKeys(...args)),
    listAgents: (...args) => read(() => lists.listAgents(...args)),
    listMandates: (...args) => read(() => lists.listMandates(...args)),
    listSellers: (...args) => read(() => lists.listSellers(...args)),
    listTransactions: (scope, filter, page) =>
      read(() => {
        const hasList = filter.agentId !== undefined || filter.mandateId !== undefined
        return hasList
          ? transactionLists.list(scope, filter, page)
          : lists.listTransactions(scope, filter, page)
      }),
    listAuditEvents: (...args) => read(() => lists.listAuditEvents(...args)),
    findLedgerFaults: () => read(() => lists.findLedgerFaults()),
  }
}

/** The codes with which SQLite says that the disk or the file fails it, not the statement. */
const storeFailures = [
  'FULL',
  'IOERR',
  'BUSY',
  'LOCKED',
  'CANTOPEN',
  'READONLY',
  'CORRUPT',
  'NOTADB',
  'NOMEM',
  'PROTOCOL',
]

function explainFailure(error: unknown): unknown {
  const code = codeOf(error)
  if (!storeFailures.some((failure) => code.startsWith(`SQLITE_${failure}`))) return error
  return new StoreUnavailableError(`SQLite answers ${code}`, { retryAfterSeconds: 5, cause: error })
}

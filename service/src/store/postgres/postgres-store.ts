import { Kysely, PostgresDialect } from 'kysely'
import type { Pool, QueryConfig } from 'pg'

import type { Caller } from '../../domain/records.ts'
import { GroupCommit, type Settled } from '../group-commit.ts'
import { refuseUnfinishedCopy } from '../copy/unfinished-copy.ts'
import { isRetry } from '../payment-records.ts'
import { prepareReads } from '../reads.ts'
import { toAgent, toMandate, type AgentRow, type HoldRow, type MandateRow, type Tables } from '../rows.ts'
import { StoreUnavailableError, type CaptureAttempt, type RecordKey, type Store } from '../store.ts'
import { readAgentFacts } from './agent-facts.ts'
import { prepareCallers } from './callers.ts'
import { openPool, storable, withClient } from './connection.ts'
import { prepareHoldSweep } from './hold-acts.ts'
import { migrate, neededVersion } from './migrate.ts'
import { writePayments } from './payment-batches.ts'
import type { Payment, PaymentOutcome } from './payment-decisions.ts'
import { readHolds } from './payment-statements.ts'
import {
  createAccount,
  createAgent,
  createMandate,
  createSeller,
  issueApiKey,
  moveMandate,
  revokeAgent,
  revokeApiKey,
} from './resource-acts.ts'
import { withRetries } from './retries.ts'
import { prepareTransactions, type Transaction } from './transaction.ts'

export interface PostgresStoreOptions {
  /** Where the database is, as `postgresql://user:password@host:port/name`. */
  readonly url: string
  /** False writes each payment as a transaction of its own, as a measure for what group commit brings. */
  readonly groupCommit?: boolean
  /** Connections that write, at most. */
  readonly writeConnections?: number
  /** Connections that read, at most. */
  readonly readConnections?: number
  /** How long a request may wait for its act or its read, every attempt included. */
  readonly patienceMs?: number
  /** Spreads the attempts of acts that met; from 0 to below 1. */
  readonly random?: () => number
}

/** Most payments in one transaction, so that it takes a few milliseconds at the most. */
const maxBatch = 128
/** How many batches of payments are on their way at once. */
const paymentLanes = 2
/** Most acts that wait for a transaction, and most reads that wait for a connection. */
const maxWaiting = 8_192
/**
 * The store on a PostgreSQL database, for any number of processes, with its schema brought up to date.
 * Throws a `StoreOpenError` when the database cannot be used.
 */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<Store> {
  await withClient(options.url, async (client, place) => {
    await migrate(client, place)
    await refuseUnfinishedCopy(client, place)
  })
  return createStore(options)
}

interface WaitingPayment {
  readonly payment: Payment
  readonly deadlineMs: number
}

function createStore({
  url,
  groupCommit = true,
  writeConnections = 4,
  readConnections = 4,
  patienceMs = 10_000,
  random = Math.random,
}: PostgresStoreOptions): Store {
  const writing = openPool(url, { max: writeConnections, pipeline: true })
  const reading = openPool(url, { max: readConnections, pipeline: true, query_timeout: patienceMs })
  // Going through the whole ledger takes as long as it takes, and keeps nobody from a connection.
  const auditing = openPool(url, { max: 1, idleTimeoutMillis: 1_000 })
  const pools = [writing, reading, auditing]

  const inTransaction = prepareTransactions(writing, random)
  const releaseExpiredHolds = prepareHoldSweep(reading, inTransaction)
  const lists = prepareReads(kyselyOn(reading), { hasMerchantPrefixes: true })
  const audits = prepareReads(kyselyOn(auditing))

  const payments = new GroupCommit<WaitingPayment, PaymentOutcome>({
    writeBatch,
    maxBatch: groupCommit ? maxBatch : 1,
    maxWaiting,
    lanes: groupCommit ? Math.min(paymentLanes, writeConnections) : writeConnections,
  })
  const resourceActs = new GroupCommit<() => Promise<unknown>, unknown>({
    writeBatch: async ([act]) => [{ value: await act?.() }],
    maxBatch: 1,
    maxWaiting,
    lanes: Math.max(1, writeConnections - 1),
  })
  const callers = prepareCallers(reading, { maxWaiting, retry })

  let closing: Promise<void> | undefined

  function refuseClosed(): void {
    if (closing) throw new StoreUnavailableError('the store is closed', { retryAfterSeconds: 1 })
  }

  /**
   * Writes payments as one transaction. When one of them cannot be written, the whole is undone and each
   * is written by itself, so that a bad row never fails its neighbours.
   */
  async function writeBatch(batch: readonly WaitingPayment[]): Promise<Settled<PaymentOutcome>[]> {
    // Those that have waited longest are in front, and the batch is theirs.
    const deadlineMs = batch[0]?.deadlineMs ?? 0
    try {
      const outcomes = await inTransaction({ deadlineMs }, (transaction) =>
        writePayments(
          transaction,
          batch.map(({ payment }) => payment),
        ),
      )
      return outcomes.map((value) => ({ value }))
    } catch (error) {
      if (batch.length === 1 || error instanceof StoreUnavailableError) return batch.map(() => ({ error }))
      const settled: Settled<PaymentOutcome>[] = []
      for (const one of batch) settled.push(...(await writeBatch([one])))
      return settled
    }
  }

  async function pay<Outcome extends PaymentOutcome>(payment: Payment): Promise<Outcome> {
    refuseClosed()
    return payments.submit({ payment, deadlineMs: performance.now() + patienceMs }) as Promise<Outcome>
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
    await Promise.all([payments.drain(), resourceActs.drain(), callers.drain()])
    await Promise.all(pools.map((pool) => pool.end()))
  }

  return {
    checkReady: () =>
      read(async () => {
        const [schema] = await rows<{ version: number }>({ text: 'select version from purser_schema' })
        if (schema?.version === neededVersion) return
        throw new StoreUnavailableError(
          `the database has schema ${schema?.version}, and this release needs ${neededVersion}`,
          { retryAfterSeconds: 5 },
        )
      }),
    close: () => (closing ??= close()),

    createAccount: (...args) => commit((transaction) => createAccount(transaction, ...args)),
    issueApiKey: (...args) => commit((transaction) => issueApiKey(transaction, ...args)),
    revokeApiKey: (...args) => commit((transaction) => revokeApiKey(transaction, ...args)),
    createAgent: (...args) => commit((transaction) => createAgent(transaction, ...args)),
    revokeAgent: (...args) => commit((transaction) => revokeAgent(transaction, ...args)),
    createMandate: (...args) => commit((transaction) => createMandate(transaction, ...args)),
    moveMandate: (...args) => commit((transaction) => moveMandate(transaction, ...args)),
    createSeller: (...args) => commit((transaction) => createSeller(transaction, ...args)),
    issueProof: (hold) => pay({ kind: 'proof', hold }),
    capture: (capture) =>
      pay({ kind: 'capture', capture: { ...capture, merchantDomain: storable(capture.merchantDomain) } }),
    evaluate: (proposal) => pay({ kind: 'evaluation', proposal }),
    releaseExpiredHolds: (nowMs, maxMandates) =>
      read(() => releaseExpiredHolds(nowMs, maxMandates, performance.now() + patienceMs)),

    isEmpty: () => read(async () => (await rows({ text: 'select 1 from accounts limit 1' })).length === 0),
    authenticate: async (secretHash): Promise<Caller | undefined> => {
      refuseClosed()
      return callers.submit(secretHash)
    },
    findCapture: (attempt) => read(() => findCapture(reading, attempt)),
    readAgentFacts: (question) => read(() => readAgentFacts(reading, question)),
    findAgent: (agent) =>
      read(async () => {
        const [row] = await rows<AgentRow>(selectRecord('agents', agent))
        return row && toAgent(row)
      }),
    findMandate: (mandate) =>
      read(async () => {
        const [row] = await rows<MandateRow>(selectRecord('mandates', mandate))
        return row && toMandate(row)
      }),
    findTransaction: (...args) => read(() => lists.findTransaction(...args)),
    findProof: (...args) => read(() => lists.findProof(...args)),
    listApiKeys: (...args) => read(() => lists.listApiKeys(...args)),
    listAgents: (...args) => read(() => lists.listAgents(...args)),
    listMandates: (...args) => read(() => lists.listMandates(...args)),
    listSellers: (...args) => read(() => lists.listSellers(...args)),
    listTransactions: (...args) => read(() => lists.listTransactions(...args)),
    listAuditEvents: (...args) => read(() => lists.listAuditEvents(...args)),
    findLedgerFaults: () => read(() => audits.findLedgerFaults()),
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

function selectRecord(table: 'agents' | 'mandates', key: RecordKey): QueryConfig {
  return {
    name: `purser_find_${table}`,
    text: `select * from ${table} where account_id = $1 and id = $2 and environment = $3`,
    values: [key.accountId, key.id, key.environment],
  }
}

async function findCapture(pool: Pool, attempt: CaptureAttempt): Promise<string | undefined> {
  const { caller, nonce, mandateId } = attempt
  const { accountId, environment } = caller
  const { rows } = await pool.query<HoldRow>(readHolds([{ accountId, environment, nonce, mandateId }]))
  const [hold] = rows
  const merchantDomain = storable(attempt.merchantDomain)
  return hold && isRetry(hold, { ...attempt, merchantDomain })
    ? (hold.transaction_id ?? undefined)
    : undefined
}

import { statSync } from 'node:fs'

import { idBytes, idText } from '../../../domain/type-id.ts'
import type { Caller } from '../../../domain/records.ts'
import { withClock } from '../../../domain/time/test-clock.ts'
import { CommitHealth } from '../../commit-health.ts'
import { CommitTimes, maxWaiting } from '../../commit-times.ts'
import { consoleQueryMs, maxConsoleQueries } from '../../console/store.ts'
import { explainFailure } from './explain-failure.ts'
import { KnownCallers } from './known-callers.ts'
import { openSqliteFile, type OpenedFile } from './open.ts'
import { QueryThread } from './query-thread.ts'
import type { StoreMetrics } from '../../store-metrics.ts'
import type { Store } from '../../store.ts'
import { closedError, createLedgerOperations, type NextId } from '../ledger-store.ts'
import { readStops } from '../operations/stops.ts'
import { joinPayments, type LedgerReader } from '../reads/ledger-reader.ts'
import { prepareLedgerReads } from '../reads/ledger-reads.ts'
import { rowOf } from '../reads/rows.ts'
import { apiKeys } from '../tables.ts'
import { prepareAgentFacts, type KnownFacts } from './agent-facts.ts'
import { IndexedMandates } from './indexed-mandates.ts'
import { SqliteLedger } from './ledger-thread.ts'
import { entriesOfMandates, ledgerSteps, openPayments, waitingPayments } from './schema.ts'
import { readerOf, readerOver, readSqliteSnapshot } from './sqlite-reader.ts'
import { sql, type Reader, type Sql } from '../../sql.ts'

export interface SqliteLedgerStoreOptions {
  /** The database file; its folder is created if missing. */
  readonly path: string
  readonly nextId: NextId
  /** Max calls in one transaction. */
  readonly maxBatch?: number | undefined
  /** How long a query of the console may take. */
  readonly queryMs?: number
  /**
   * Called with the reason if the ledger's thread ends by itself: nothing can be written any more until a
   * restart.
   */
  readonly onEnd?: (cause: unknown) => void
  /** Where the store records its metrics, if anywhere. */
  readonly metrics?: StoreMetrics | undefined
}

/** Max cached accounts of mandates. */
const maxAccountsKept = 65_536

/** The embedded store, on one SQLite file. Throws a `StoreOpenError` if the file cannot be used. */
export function openSqliteLedgerStore(options: SqliteLedgerStoreOptions): Store {
  const file = openSqliteFile(options.path)
  try {
    return createStore(file, options)
  } catch (error) {
    file.close()
    throw error
  }
}

function createStore(
  file: OpenedFile,
  { nextId, maxBatch = 128, queryMs = consoleQueryMs, onEnd, metrics }: SqliteLedgerStoreOptions,
): Store {
  const { database, path } = file
  const db = readerOf(database)
  const queries = new QueryThread({ path, timeoutMs: queryMs, maxWaiting: maxConsoleQueries })
  const commitTimes = new CommitTimes(() => ledger.waiting, metrics)
  const health = new CommitHealth(() => ledger.probe())
  let hasEnded = false
  const ledger = new SqliteLedger({
    path,
    maxBatch,
    maxWaiting,
    onWritten: (batch) => commitTimes.add(batch),
    onUnavailable: () => health.failed(),
    onEnd: (cause) => {
      hasEnded = true
      onEnd?.(cause)
    },
  })
  const indexed = new IndexedMandates<KnownFacts>(ledger)
  let closing: Promise<void> | undefined
  const ledgerReader = (reader: Reader, inTime: Sql): LedgerReader => ({
    ...reader,
    inTime,
    hasText: (column, name, text) =>
      sql`exists (select 1 from json_each(${column}) where key = ${name} and value = ${text})`,
    joinPayments,
    entriesOfMandates: async (mandateIds) => {
      await indexed.indexEntries(mandateIds)
      return sql.table(entriesOfMandates.view)
    },
    indexedPayments: sql.table(openPayments.view),
    waitingPayments: sql.table(waitingPayments),
  })

  const selectKey = database.prepare<[Buffer], Record<string, unknown>>(`
    select k.*, a.clock_offset_ms from key_hashes h
      join api_keys k on k.account_id = h.account_id and k.id = h.key_id
      join accounts a on a.id = h.account_id
    where h.secret_hash = ? and k.revoked_at_ms is null and a.disabled_at_ms is null`)
  const callers = new KnownCallers({
    lookUp: findCaller,
    untilDurable: () => ledger.untilDurable(),
  })

  function findCaller(secretHash: Buffer): Caller | undefined {
    const found = selectKey.get(secretHash)
    if (!found) return undefined
    const { accountId, environment, id: keyId, role, agentId } = rowOf(apiKeys, found)
    const caller: Caller = { accountId, environment, keyId, role, agentId }
    const offset = found['clock_offset_ms']
    return withClock(caller, { clockOffsetMs: offset === null ? null : Number(offset) })
  }

  const selectAccount = database
    .prepare<[Buffer], Buffer>('select account_id from mandate_accounts where mandate_id = ?')
    .pluck()
  const accountsOfMandates = new Map<string, string>()

  /** It never changes, so it is cached. */
  function accountOfMandate(mandateId: string): string | undefined {
    const known = accountsOfMandates.get(mandateId)
    if (known !== undefined) return known
    const bytes = idBytes('mandate', mandateId)
    const found = bytes && selectAccount.get(bytes)
    if (!found) return undefined
    if (accountsOfMandates.size >= maxAccountsKept) accountsOfMandates.clear()
    const accountId = idText('account', found)
    accountsOfMandates.set(mandateId, accountId)
    return accountId
  }

  /** The result of a read of committed data, once that data is durable. */
  async function read<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    if (closing) throw closedError()
    const answer = await work().catch(rethrow)
    await ledger.untilDurable()
    return answer
  }

  const readAgentFacts = prepareAgentFacts(database, indexed)
  const operations = createLedgerOperations({
    ledger: indexed,
    nextId,
    accountOfMandate,
    db: readerOver((text, values) => db.query(text, values).catch(rethrow)),
    // Only this process writes the file.
    onKeysChanged: () => callers.forget(),
  })
  const reads = prepareLedgerReads({
    db: ledgerReader(db, sql``),
    // The console's thread ends slow queries.
    consoleDb: ledgerReader(
      readerOver((text, values) => queries.query(text, values)),
      sql`and in_time()`,
    ),
    readSnapshot: (work) => readSqliteSnapshot(path, work),
    read,
    readForConsole: read,
  })

  async function close(): Promise<void> {
    await operations.close()
    await queries.close()
    await ledger.close()
    if (hasEnded) file.abandon()
    else file.close()
  }

  return {
    ...operations,
    ...reads,
    checkReady: () =>
      read(async () => {
        await reads.isEmpty()
        await ledger.run(readStops, { accountId: '', environment: 'sandbox' })
        await health.check()
      }),
    readAgentFacts: (question) => read(() => readAgentFacts(question)),
    close: () => (closing ??= close()),
    confirmsCallers: false,
    authenticate: (secretHash) => {
      if (closing) throw closedError()
      return callers.find(secretHash)
    },
    readFigures: async () => ({
      kind: 'sqlite',
      schemaVersion: ledgerSteps.length,
      ...commitTimes.figures,
      ledgerBytes: sizeOf(path),
    }),
  }
}

function rethrow(error: unknown): never {
  throw explainFailure(error)
}

/** The size of the file and its log. */
function sizeOf(path: string): number {
  const sizes = [path, `${path}-wal`].map((one) => statSync(one, { throwIfNoEntry: false })?.size ?? 0)
  return sizes.reduce((sum, size) => sum + size, 0)
}

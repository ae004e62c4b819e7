import type { ConsoleReads } from '../../console/store.ts'
import type { StoreReads } from '../../store.ts'
import { prepareApprovalReads } from './approvals.ts'
import { prepareAuditLog } from './audit-log.ts'
import { prepareFigures } from './console-figures.ts'
import { prepareConsoleLists } from './console-lists.ts'
import { prepareDecisions } from './decisions.ts'
import { findLedgerFaults } from './faults.ts'
import { prepareHistory } from './history.ts'
import type { LedgerReader } from './ledger-reader.ts'
import { prepareRecordReads } from './lists.ts'
import { prepareTransactionReads } from './transactions.ts'
import type { Reader } from '../../sql.ts'

export interface LedgerReadsOptions {
  /** For reads that a request waits for. */
  readonly db: LedgerReader
  /** For the console's queries and lists of transactions: aborts slow ones. */
  readonly consoleDb: LedgerReader
  /** Reads the whole ledger from one snapshot. */
  readonly readSnapshot: <Answer>(work: (db: Reader) => Promise<Answer>) => Promise<Answer>
  /** Runs a read, and returns its result once it may be returned. */
  readonly read: <Answer>(work: () => Promise<Answer>) => Promise<Answer>
  /** Like `read`, for the console's connection. */
  readonly readForConsole: <Answer>(work: () => Promise<Answer>) => Promise<Answer>
}

type PortReads = Omit<StoreReads, 'authenticate' | 'confirmsCallers' | 'readAgentFacts'> &
  Omit<ConsoleReads, 'readFigures'>

/** The reads of the port, over the tables of the ledger. */
export function prepareLedgerReads(options: LedgerReadsOptions): PortReads {
  const { db, consoleDb, readSnapshot, read, readForConsole } = options
  const { findTransaction } = prepareTransactionReads(db)
  const { listTransactions, listConsoleTransactions, newestTransactions } = prepareTransactionReads(consoleDb)
  const reads = {
    ...prepareRecordReads(db),
    ...prepareApprovalReads(db),
    ...prepareAuditLog(db),
    findTransaction,
    findLedgerFaults: () => readSnapshot(findLedgerFaults),
  }
  const consoleReads = {
    ...prepareFigures(consoleDb),
    ...prepareConsoleLists(consoleDb),
    ...prepareDecisions(consoleDb),
    ...prepareHistory(consoleDb),
    listTransactions,
    listConsoleTransactions,
    newestTransactions,
  }
  return { ...guarded(reads, read), ...guarded(consoleReads, readForConsole) }
}

type Reads = Readonly<Record<string, (...args: never[]) => Promise<unknown>>>

/** The same reads, each run by a function. */
function guarded<Some extends Reads>(reads: Some, run: LedgerReadsOptions['read']): Some {
  return Object.fromEntries(
    Object.entries(reads).map(([name, find]) => [name, (...args: never[]) => run(() => find(...args))]),
  ) as Some
}

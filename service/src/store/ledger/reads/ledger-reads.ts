import type { ConsoleReads } from '../../console/store.ts'
import type { StoreReads } from '../../store.ts'
import { prepareApprovalReads } from './approvals.ts'
import { prepareAuditLog } from './audit-log.ts'
import { prepareFigures } from './console-figures.ts'
import { prepareConsoleLists } from './console-lists.ts'
import { prepareDecisions } from './decisions.ts'
import type { ReadDialect } from './dialect.ts'
import { findLedgerFaults } from './faults.ts'
import { prepareHistory } from './history.ts'
import { prepareRecordReads } from './lists.ts'
import { prepareTransactionReads } from './transactions.ts'
import type { Reader } from '../../sql.ts'

export interface LedgerReadsOptions {
  /** For reads that a request waits for. */
  readonly db: Reader
  /** For the console's queries and lists of transactions: aborts slow ones. */
  readonly consoleDb: Reader
  /** For reads of the whole ledger. */
  readonly auditDb: Reader
  readonly dialect: ReadDialect
  /** Like `dialect`, for the console's connection. */
  readonly consoleDialect: ReadDialect
  /** Runs a read, and returns its result once it may be returned. */
  readonly read: <Answer>(work: () => Promise<Answer>) => Promise<Answer>
  /** Like `read`, for the console's connection. */
  readonly readForConsole: <Answer>(work: () => Promise<Answer>) => Promise<Answer>
}

type PortReads = Omit<StoreReads, 'authenticate' | 'confirmsCallers' | 'readAgentFacts'> &
  Omit<ConsoleReads, 'readFigures'>

/** The reads of the port, over the tables of the ledger. */
export function prepareLedgerReads(options: LedgerReadsOptions): PortReads {
  const { db, consoleDb, auditDb, dialect, consoleDialect, read, readForConsole } = options
  const records = prepareRecordReads(db, dialect)
  const transactions = prepareTransactionReads(db, dialect)
  const ofApprovals = prepareApprovalReads(db, dialect)
  const { listAuditEvents } = prepareAuditLog(db, dialect)
  const listed = prepareTransactionReads(consoleDb, consoleDialect)
  const { listTransactions, listConsoleTransactions, newestTransactions } = listed
  const consoleReads = {
    ...prepareFigures(consoleDb, consoleDialect),
    ...prepareConsoleLists(consoleDb, consoleDialect),
    ...prepareDecisions(prepareRecordReads(consoleDb, consoleDialect), listed),
    ...prepareHistory(consoleDb, consoleDialect),
    listTransactions,
    listConsoleTransactions,
    newestTransactions,
  }
  const { findTransaction } = transactions
  return {
    ...guarded({ ...records, ...ofApprovals, findTransaction, listAuditEvents }, read),
    ...guarded(consoleReads, readForConsole),
    findLedgerFaults: () => read(() => findLedgerFaults(auditDb, dialect)),
  }
}

type Reads = Readonly<Record<string, (...args: never[]) => Promise<unknown>>>

/** The same reads, each run by a function. */
function guarded<Some extends Reads>(reads: Some, run: LedgerReadsOptions['read']): Some {
  return Object.fromEntries(
    Object.entries(reads).map(([name, find]) => [name, (...args: never[]) => run(() => find(...args))]),
  ) as Some
}

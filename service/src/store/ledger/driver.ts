import type { Read } from './operation.ts'
import type { Row, Table } from './table.ts'

export interface ReadAnswer {
  /** The rows found, for each read in order. */
  readonly found: readonly (readonly Row[])[]
  /** Reads of rows that another transaction has locked; they were not executed. */
  readonly blocked: ReadonlySet<Read>
  /** Whether the rows are from a cache that other processes do not update; the commit fails if they have changed. */
  readonly mayBeStale?: boolean
}

/**
 * A row that a batch adds (without `before`), removes (without `now`) or replaces. If its table has sums, a row that it adds is
 * added up with the one that may have its key.
 */
export interface NetChange {
  readonly table: Table
  readonly before: Row | undefined
  readonly now: Row | undefined
}

/** A database that stores the ledger. It knows tables and no rules. */
export interface Driver {
  /** A transaction, which ends when it is committed or rolled back. */
  begin(options?: TransactionOptions): DriverTransaction
}

export interface TransactionOptions {
  /** How long it may take. */
  readonly patienceMs?: number
  /** Whether all rows are read from the database, because cached ones were stale. */
  readonly avoidsCache?: boolean
}

export interface ReadOptions {
  readonly waitsForLocks: boolean
}

/**
 * The methods throw a RolledBackError, OutcomeUnknownError or RowExistsError if another transaction may succeed. After any
 * error, `rollBack` ends the transaction.
 */
export interface DriverTransaction {
  /**
   * Takes the locks, in the order of the tables and of their keys, and then reads everything, so that the rows are
   * current once the locks are held. Waits for rows that another transaction has locked only with `waitsForLocks`;
   * otherwise it names their reads in `blocked`.
   */
  read(reads: readonly Read[], options: ReadOptions): Promise<ReadAnswer> | ReadAnswer
  /**
   * Writes the changes and commits; they are durable when it resolves. Rows of tables that are rechecked must
   * be unchanged since they were read, including those that were not locked.
   *
   * @throws RolledBackError if one is not
   */
  commit(changes: readonly NetChange[]): Promise<void> | void
  /** Ends the transaction, unless it has been committed. Never throws. */
  rollBack(): Promise<void> | void
}

/** The transaction was rolled back and may be retried, for example after a conflict. */
export class RolledBackError extends Error {
  override readonly name: string = 'RolledBackError'
}

/** The transaction used rows from a cache that have changed, or may have; nothing was committed. */
export class StaleRowsError extends RolledBackError {
  override readonly name = 'StaleRowsError'
}

/** Another transaction is writing one of its rows, and the wait ended. */
export class RowLockedError extends RolledBackError {
  override readonly name = 'RowLockedError'
}

/** It is unknown whether the transaction was committed: the connection broke before the reply to the commit. */
export class OutcomeUnknownError extends Error {
  override readonly name = 'OutcomeUnknownError'
}

/** A row to be added already exists: another transaction has added it, or an earlier attempt of the same batch. */
export class RowExistsError extends Error {
  override readonly name = 'RowExistsError'
}

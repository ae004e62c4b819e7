import type { Read } from './operation.ts'
import type { Table } from './table.ts'

/** The rows found, for each read in order. */
export type Found = readonly (readonly Readonly<Record<string, unknown>>[])[]

export interface ReadAnswer {
  readonly found: Found
  /** Reads of rows that another transaction has locked; they were not executed. */
  readonly blocked: ReadonlySet<Read>
}

/**
 * A row that a batch adds (without `before`), removes (without `now`) or replaces. If its table has sums, a row that it adds is
 * added up with the one that may have its key.
 */
export interface NetChange {
  readonly table: Table
  readonly before: Readonly<Record<string, unknown>> | undefined
  readonly now: Readonly<Record<string, unknown>> | undefined
}

/** A database that stores the ledger. It knows tables and no rules. */
export interface Driver {
  /**
   * Runs the work in a transaction. Rolls back if the work throws, or if it takes longer than its deadline.
   *
   * @throws RolledBackError, OutcomeUnknownError or RowExistsError if another attempt may succeed
   */
  transaction<Result>(
    work: (transaction: DriverTransaction) => Promise<Result>,
    limits?: { readonly patienceMs: number },
  ): Promise<Result>
}

export interface DriverTransaction {
  /**
   * Takes the locks, in the order of the tables and of their keys, and then reads everything, so that the rows are
   * current once the locks are held. Waits for rows that another transaction has locked only with `waitsForLocks`;
   * otherwise it names their reads in `blocked`.
   */
  read(reads: readonly Read[], options: { readonly waitsForLocks: boolean }): Promise<ReadAnswer>
  /**
   * Writes the changes and commits; they are durable when it resolves. Rows of tables that are rechecked must
   * be unchanged since they were read, including those that were not locked.
   *
   * @throws RolledBackError if one is not
   */
  commit(changes: readonly NetChange[]): Promise<void>
}

/** The transaction was rolled back and may be retried, for example after a conflict. */
export class RolledBackError extends Error {
  override readonly name: string = 'RolledBackError'
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

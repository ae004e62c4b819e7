import type { Read } from './operation.ts'
import type { Table } from './table.ts'

/** The rows that were found, for each read in its order. */
export type Found = readonly (readonly Readonly<Record<string, unknown>>[])[]

export interface ReadAnswer {
  readonly found: Found
  /** Reads of rows that another transaction has locked. They count as not made. */
  readonly blocked: ReadonlySet<Read>
}

/** A row that a batch adds (without `before`), removes (without `now`) or replaces. */
export interface NetChange {
  readonly table: Table
  readonly before: Readonly<Record<string, unknown>> | undefined
  readonly now: Readonly<Record<string, unknown>> | undefined
}

/** A database that keeps the ledger. It knows tables and no rules. */
export interface Driver {
  /**
   * Runs the work in a transaction. When the work throws, nothing of it is kept. When it takes longer than its caller has
   * patience, it is ended.
   *
   * @throws RolledBackError, OutcomeUnknownError or RowExistsError when another attempt may succeed
   */
  transaction<Result>(
    work: (transaction: DriverTransaction) => Promise<Result>,
    limits?: { readonly patienceMs: number },
  ): Promise<Result>
}

export interface DriverTransaction {
  /**
   * Locks what is to be locked, in the order of the tables and of their keys, and then reads everything, so that what is
   * read is as it is once the locks are held. A row that another transaction has locked is waited for only with
   * `waitsForLocks`; else its read is named in `blocked`.
   */
  read(reads: readonly Read[], options: { readonly waitsForLocks: boolean }): Promise<ReadAnswer>
  /**
   * Writes the changes and commits; they are durable when it resolves. Rows of tables that are rechecked must then be as they
   * were read, also those that were not locked.
   *
   * @throws RolledBackError when one is not
   */
  commit(changes: readonly NetChange[]): Promise<void>
}

/** The transaction has not been made, and may be tried again: two of them met, for example. */
export class RolledBackError extends Error {
  override readonly name: string = 'RolledBackError'
}

/** A row that it writes is being written by another transaction, and was not waited for any longer. */
export class RowLockedError extends RolledBackError {
  override readonly name = 'RowLockedError'
}

/** Whether the transaction was committed is not known: the connection ended before the answer to the commit. */
export class OutcomeUnknownError extends Error {
  override readonly name = 'OutcomeUnknownError'
}

/** A row that was to be added is there by now: another has added it, or an earlier attempt at the same batch. */
export class RowExistsError extends Error {
  override readonly name = 'RowExistsError'
}

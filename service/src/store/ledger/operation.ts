import type { ConsoleOperations } from '../console/store.ts'
import type { Refusal, StoreOperations } from '../store.ts'
import { keyText, type Row, type Table, type TableKey, type TableRow } from './table.ts'

/** A row that an operation reads, by key. */
export interface RowRead {
  readonly kind: 'row'
  readonly table: Table
  readonly key: Row
  /** Whether the row is locked until the transaction ends. */
  readonly isLocked: boolean
}

/**
 * A range of rows in the order of a column: those whose `where` columns have these values, from after `after` up to
 * and including `upTo`, at most `limit`. The table has an index on `where` and `orderBy`.
 */
export interface RangeRead<Of extends Table = Table> {
  readonly kind: 'range'
  readonly table: Of
  readonly where: Row
  readonly orderBy: string
  readonly after?: string | number | undefined
  readonly upTo?: string | number | undefined
  readonly limit: number
  readonly isLocked: boolean
}

export type Read = RowRead | RangeRead

/** Reads the row with a key. */
export function look<Of extends Table>(table: Of, key: TableKey<Of>): RowRead {
  return { kind: 'row', table, key, isLocked: false }
}

/** Reads the row with a key and locks it until the transaction ends. */
export function lock<Of extends Table>(table: Of, key: TableKey<Of>): RowRead {
  return { kind: 'row', table, key, isLocked: true }
}

/** Reads a range of rows, without locks unless it says so. */
export function range<Of extends Table>(
  table: Of,
  bounds: Omit<RangeRead, 'kind' | 'table' | 'isLocked'> & { readonly isLocked?: boolean },
): RangeRead<Of> {
  return { kind: 'range', table, isLocked: false, ...bounds }
}

/** A change: a row to add or replace, one to remove, or sums to add up. */
export interface Change {
  readonly kind: 'put' | 'remove' | 'add'
  readonly table: Table
  readonly row: Row
}

export function put<Of extends Table>(table: Of, row: TableRow<Of>): Change {
  return { kind: 'put', table, row }
}

export function remove<Of extends Table>(table: Of, row: TableRow<Of>): Change {
  return { kind: 'remove', table, row }
}

/**
 * Adds a row's sums to those of the row with its key, or adds the row if there is none. The database adds them up, so the row is
 * neither read nor locked before.
 */
export function add<Of extends Table>(table: Of, row: TableRow<Of>): Change {
  return { kind: 'add', table, row }
}

/**
 * The rows that the operations of a batch see: each as the earlier operations left it. An operation that uses rows that have
 * not been read ends there; once they are read, it decides again from the start.
 */
export interface Facts {
  /** Undefined if there is none. */
  row<Of extends Table>(table: Of, key: TableKey<Of>): TableRow<Of> | undefined
  /** The row, if this is a rerun: then an earlier attempt, whose response was lost, may have written it. */
  written<Of extends Table>(table: Of, key: TableKey<Of>): TableRow<Of> | undefined
  /** The row, locked until the transaction ends. */
  lockedRow<Of extends Table>(table: Of, key: TableKey<Of>): TableRow<Of> | undefined
  rows<Of extends Table>(range: RangeRead<Of>): readonly TableRow<Of>[]
  /** Reads rows that are used next in one step, instead of a step for each. */
  read(reads: readonly Read[]): void
  /** Works on several items. What they read that depends on other rows is read in the same steps. */
  each<Item>(items: readonly Item[], work: (item: Item) => void): void
  /**
   * Whether an earlier attempt of this batch may have been committed: then operations look for their own rows first.
   */
  readonly isRerun: boolean
}

/** The outcome of an operation, and the rows that it changes. */
export interface Decision<Outcome> {
  readonly outcome: Outcome
  readonly changes: readonly Change[]
}

/**
 * One business operation in one transaction, as two pure functions: no SQL, no clock, no database. The port describes those that
 * have the name of one of its methods.
 */
export interface Operation<Call, Outcome> {
  readonly name: string
  /** The rows that the call's arguments identify: they are read in the first step, before it is decided. */
  readonly reads: (call: Call) => readonly Read[]
  /** Reads the rows that depend on others as it uses them, and is then called again. */
  readonly decide: (call: Call, facts: Facts) => Decision<Outcome>
}

/** Every declared operation by name, for messages to another thread. */
export const operationsByName = new Map<string, Operation<unknown, unknown>>()

/** Declares an operation. */
export function operation<Call, Outcome>(
  name: string,
  functions: Omit<Operation<Call, Outcome>, 'name'>,
): Operation<Call, Outcome> {
  const declared = { name, ...functions }
  operationsByName.set(name, declared as Operation<unknown, unknown>)
  return declared
}

/** The methods of the port that change the ledger, or read it in a transaction. */
export type PortOperations = StoreOperations & ConsoleOperations

/** The operation behind a method of the port. Its call is the method's arguments. */
export type PortOperation<Name extends keyof PortOperations> = Operation<
  Parameters<PortOperations[Name]>,
  Awaited<ReturnType<PortOperations[Name]>>
>

/** Declares the operation behind a method of the port. */
export function portOperation<Name extends keyof PortOperations>(
  name: Name,
  functions: Omit<PortOperation<Name>, 'name'>,
): PortOperation<Name> {
  return operation(name, functions)
}

/** The decision of an operation that changes nothing. */
export function unchanged<Outcome>(outcome: Outcome): Decision<Outcome> {
  return { outcome, changes: [] }
}

/** The decision of an operation that is refused. */
export function refused<const Code extends string>(code: Code): Decision<Refusal<Code>> {
  return unchanged({ outcome: 'refused', code })
}

/** A read as text: equal for the same row, locked or not, and for the same range if both are locked or neither is. */
export function readText(read: Read): string {
  if (read.kind === 'row') return `${read.table.name}\0${keyText(read.table, read.key)}`
  const { table, where, orderBy, after, upTo, limit, isLocked } = read
  let text = `${table.name}\0${orderBy}\0${after}\0${upTo}\0${limit}\0${isLocked}`
  for (const name of Object.keys(where)) text += `\0${name}\0${String(where[name])}`
  return text
}

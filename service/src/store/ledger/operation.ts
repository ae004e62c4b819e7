import { keyText, type Table, type TableKey, type TableRow } from './table.ts'

/** A row that an operation looks at, by its key. */
export interface RowRead {
  readonly kind: 'row'
  readonly table: Table
  readonly key: Readonly<Record<string, unknown>>
  /** Whether nobody else may change the row until the transaction ends. */
  readonly isLocked: boolean
}

/**
 * Rows that an operation looks at, in the order of a column: those in which the columns of `where` have these values, from
 * beyond `after` up to and including `upTo`, at most `limit` of them. The table has an index of `where` and `orderBy`.
 */
export interface RangeRead {
  readonly kind: 'range'
  readonly table: Table
  readonly where: Readonly<Record<string, unknown>>
  readonly orderBy: string
  readonly after?: string | number | undefined
  readonly upTo?: string | number | undefined
  readonly limit: number
  readonly isLocked: boolean
}

export type Read = RowRead | RangeRead

/** The row with a key. */
export function look<Of extends Table>(table: Of, key: TableKey<Of>): RowRead {
  return { kind: 'row', table, key, isLocked: false }
}

/** The row with a key, which nobody else changes until the transaction ends. */
export function lock<Of extends Table>(table: Of, key: TableKey<Of>): RowRead {
  return { kind: 'row', table, key, isLocked: true }
}

/** What an operation changes: a row that it adds or replaces, or one that it removes. */
export interface Change {
  readonly kind: 'put' | 'remove'
  readonly table: Table
  readonly row: Readonly<Record<string, unknown>>
}

export function put<Of extends Table>(table: Of, row: TableRow<Of>): Change {
  return { kind: 'put', table, row }
}

export function remove<Of extends Table>(table: Of, row: TableRow<Of>): Change {
  return { kind: 'remove', table, row }
}

/** The rows that the operations of a batch see: each as the operations before it left it. */
export interface Facts {
  /** Undefined when there is none. A row that was not asked for is a bug, and throws. */
  row<Of extends Table>(table: Of, key: TableKey<Of>): TableRow<Of> | undefined
  rows<Of extends Table>(table: Of, range: RangeRead): readonly TableRow<Of>[]
  /** Whether a row was asked for, so that an operation can ask in steps. */
  knows(read: Read): boolean
  /** Whether an earlier attempt at this batch may have been committed: then an operation looks for what it wrote itself. */
  readonly isRerun: boolean
}

/** What an operation answers, and the rows that change. */
export interface Decision<Outcome> {
  readonly outcome: Outcome
  readonly changes: readonly Change[]
}

/**
 * One business operation, in one transaction. It is two pure functions: it knows no SQL, no clock and no database.
 */
export interface Operation<Call, Outcome> {
  readonly name: string
  /**
   * What it looks at. It is asked again with what was found, until it asks for nothing new, so a read can depend on
   * another.
   */
  readonly reads: (call: Call, facts: Facts) => readonly Read[]
  readonly decide: (call: Call, facts: Facts) => Decision<Outcome>
}

/** The answer of an operation that changes nothing. */
export function unchanged<Outcome>(outcome: Outcome): Decision<Outcome> {
  return { outcome, changes: [] }
}

/** A read as one text: the same for the same rows, whether they are locked or not. */
export function readText(read: Read): string {
  if (read.kind === 'row') return `${read.table.name}\0${keyText(read.table, read.key)}`
  const { table, where, orderBy, after, upTo, limit } = read
  return `${table.name}\0${JSON.stringify([where, orderBy, after, upTo, limit])}`
}

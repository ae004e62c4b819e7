import { idBytes, type IdKind } from '../../domain/type-id.ts'

/**
 * The kind of a column. A driver chooses the database type: an id has 16 bytes, and `micro` and `integer` are 64-bit
 * integers.
 */
export type ColumnKind = 'id' | 'text' | 'micro' | 'integer' | 'json' | 'bytes'

/** A column of a table. `Value` is its type in rows. */
export interface Column<Value = unknown> {
  readonly kind: ColumnKind
  readonly isNullable: boolean
  /** The kind of ids in the column: all have its prefix. A nonce has none. */
  readonly idKind?: IdKind | 'nonce'
  /** The only allowed texts. */
  readonly vocabulary?: readonly string[]
  /** Has no value at run time; it carries the type. */
  readonly type?: Value
}

export type Columns = Readonly<Record<string, Column>>

/** A row of any table, or some of its columns. */
export type Row = Readonly<Record<string, unknown>>

/** A row, as operations see it. */
export type RowOf<Declared extends Columns> = {
  readonly [Name in keyof Declared]: Declared[Name] extends Column<infer Value> ? Value : never
}

export interface TableOptions<Name extends string> {
  /**
   * The columns of each index other than the primary key, none of which ever changes. So an update touches no
   * index, and PostgreSQL can write it in place.
   */
  readonly indexes?: readonly (readonly Name[])[]
  /** Constraints of every row, in SQL that every database supports. */
  readonly checks?: readonly string[]
  /**
   * Whether a transaction fails if it only read a row that has changed when it commits. So a process that
   * freezes after the read cannot write what has been forbidden since, and the change need not wait for it.
   */
  readonly isRechecked?: boolean
  /** Whether all columns except the key are added up (see `add`). Operations never read such a table. */
  readonly isAddedUp?: boolean
}

/**
 * A table, declared once. Operations read and change its rows; the drivers, the copy between databases, and the test
 * of the schema are derived from the declaration.
 */
export interface Table<Declared extends Columns = Columns, Key extends keyof Declared & string = string> {
  readonly name: string
  readonly columns: Declared
  /** The primary key. Its columns never change. */
  readonly key: readonly Key[]
  readonly indexes: readonly (readonly string[])[]
  readonly checks: readonly string[]
  readonly isRechecked: boolean
  /** The columns that are added up, if any may be. */
  readonly sums: readonly string[] | undefined
  /** The table's position in the lock order. */
  readonly lockOrder: number
}

export type TableRow<Of extends Table> = RowOf<Of['columns']>

/** The primary key of a row. */
export type TableKey<Of extends Table> = Pick<TableRow<Of>, Of['key'][number] & keyof TableRow<Of>>

function column<Value>(kind: ColumnKind): Column<Value> {
  return { kind, isNullable: false }
}

/** The kinds of columns, with their types in rows. */
export const columnOf = {
  /** An id from the service: 16 bytes in a database, text in a row. */
  id: (idKind: IdKind | 'nonce'): Column<string> => ({ ...column('id'), idKind }),
  text: () => column<string>('text'),
  /** One of several texts, which the database checks. */
  oneOf: <const Value extends string>(...vocabulary: Value[]): Column<Value> => ({
    ...column('text'),
    vocabulary,
  }),
  /** Text of a known type that the database does not check, because more values may be added. */
  openText: <Value extends string>() => column<Value>('text'),
  /** Millionths of a USDC. */
  micro: <Value extends bigint>() => column<Value>('micro'),
  /** A count, or milliseconds since 1970. */
  integer: () => column<number>('integer'),
  json: <Value>() => column<Value>('json'),
  bytes: () => column<Buffer>('bytes'),
}

/** The same column, nullable. */
export function nullable<Value>(declared: Column<Value>): Column<Value | null> {
  return { ...declared, isNullable: true }
}

/** Every declared table, in lock order. */
export const declaredTables: Table[] = []

/** Declares a table. Rows are locked in the order in which their tables are declared. */
export function table<Declared extends Columns, Key extends keyof Declared & string>(
  name: string,
  key: readonly Key[],
  columns: Declared,
  {
    indexes = [],
    checks = [],
    isRechecked = false,
    isAddedUp = false,
  }: TableOptions<keyof Declared & string> = {},
): Table<Declared, Key> {
  const sums = isAddedUp ? Object.keys(columns).filter((column) => !key.includes(column as Key)) : undefined
  const lockOrder = declaredTables.length
  const made = { name, key, columns, indexes, checks, isRechecked, sums, lockOrder }
  declaredTables.push(made)
  return made
}

const ownAccount = { accountId: columnOf.id('account') }

/** Declares a table whose rows belong to one account each. It leads their keys and the indexes, which omit it here. */
export function tenantTable<Declared extends Columns, Key extends keyof Declared & string>(
  name: string,
  key: readonly Key[],
  columns: Declared,
  { indexes = [], ...options }: TableOptions<keyof Declared & string> = {},
): Table<typeof ownAccount & Declared, 'accountId' | Key> {
  return table(
    name,
    ['accountId', ...key],
    { ...ownAccount, ...columns },
    { ...options, indexes: indexes.map((index) => ['accountId', ...index]) },
  )
}

/** The key of a row as unique text. No text of the ledger contains NUL. */
export function keyText({ key }: Table, row: Row): string {
  return key.map((name) => textOf(row[name])).join('\0')
}

/** A row with the sums of two rows of one key. */
export function sumRows<Of extends Row>({ sums }: Table, one: Of, other: Of): Of {
  // Both values of a column are numbers, or both are bigints.
  const added = (sums ?? []).map((name) => [name, (one[name] as number) + (other[name] as number)])
  return { ...one, ...Object.fromEntries(added) }
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : String(value)
}

/** The name of a table's column in a database. */
export function sqlName(name: string): string {
  return name.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`)
}

/** Columns as an SQL list. */
export function columnList(names: readonly string[]): string {
  return names.map(sqlName).join(', ')
}

/** A column of a `create table`, with its database type. */
export function declareColumn(name: string, { isNullable, vocabulary }: Column, type: string): string {
  const column = sqlName(name)
  // Not `in`: SQLite would build a table for the list whenever a row is written.
  const check = vocabulary && ` check (${vocabulary.map((word) => `${column} = '${word}'`).join(' or ')})`
  return `${column} ${type}${isNullable ? '' : ' not null'}${check ?? ''}`
}

/** What an `insert … on conflict do` does with a row whose key exists: adds it up. */
export function sumsOnConflict(name: string, sums: readonly string[]): string {
  const sets = sums.map(sqlName).map((column) => `${column} = ${name}.${column} + excluded.${column}`)
  return sets.length === 0 ? 'nothing' : `update set ${sets.join(', ')}`
}

/**
 * Whether a column can hold a value at all. No row has an id that a caller invented, so such a read finds
 * nothing, and a driver need not query.
 */
export function canHold({ idKind }: Column, value: unknown): boolean {
  return idKind === undefined || (typeof value === 'string' && idBytes(idKind, value) !== undefined)
}

/** Whether some columns of a table can hold their values. */
export function canHoldAll(
  { columns }: Table,
  values: Row,
  names: readonly string[] = Object.keys(values),
): boolean {
  return names.every((name) => canHold(columns[name]!, values[name]))
}

/**
 * The columns of the index, or of the primary key, that finds the rows with certain values in some columns, in the order of
 * another.
 *
 * @throws when there is none: a range read without an index is a bug
 */
export function indexOf(table: Table, where: readonly string[], orderBy: string): readonly string[] {
  const found = [table.key, ...table.indexes].find(
    (columns) =>
      columns[where.length] === orderBy &&
      columns.slice(0, where.length).every((name) => where.includes(name)),
  )
  if (!found) throw new Error(`${table.name} has no index of ${[...where, orderBy].join(', ')}`)
  return found
}

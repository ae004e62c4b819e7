/** What a column holds. A driver chooses the type of its database for it. */
export type ColumnKind = 'id' | 'text' | 'micro' | 'integer' | 'json' | 'bytes'

/** A column of a table. `Value` is what rows have in it. */
export interface Column<Value = unknown> {
  readonly kind: ColumnKind
  readonly isNullable: boolean
  /** Holds no value; it carries the type. */
  readonly type?: Value
}

export type Columns = Readonly<Record<string, Column>>

/** A row, as operations see it. */
export type RowOf<Declared extends Columns> = {
  readonly [Name in keyof Declared]: Declared[Name] extends Column<infer Value> ? Value : never
}

/**
 * A table, declared once. Operations read and change its rows; the drivers, the copy from one database to another, and the
 * test of the schema are made from the declaration.
 */
export interface Table<Declared extends Columns = Columns, Key extends keyof Declared & string = string> {
  readonly name: string
  readonly columns: Declared
  /** The primary key. Its columns never change. */
  readonly key: readonly Key[]
  /** The place of the table in the order in which transactions lock rows. */
  readonly lockOrder: number
}

export type TableRow<Of extends Table> = RowOf<Of['columns']>

/** The primary key of a row. */
export type TableKey<Of extends Table> = Pick<TableRow<Of>, Of['key'][number] & keyof TableRow<Of>>

function column<Value>(kind: ColumnKind): Column<Value> {
  return { kind, isNullable: false }
}

/** The kinds of columns, with the values that rows have in them. */
export const columnOf = {
  /** An id that the service gave out: 16 bytes in a database, text in a row. */
  id: () => column<string>('id'),
  text: <Value extends string = string>() => column<Value>('text'),
  /** Millionths of a USDC. */
  micro: <Value extends bigint>() => column<Value>('micro'),
  /** A count, or milliseconds since 1970. */
  integer: () => column<number>('integer'),
  json: <Value>() => column<Value>('json'),
  bytes: () => column<Buffer>('bytes'),
}

/** The same column, where rows may have null. */
export function nullable<Value>({ kind }: Column<Value>): Column<Value | null> {
  return { kind, isNullable: true }
}

let declared = 0

/** Declares a table. Rows are locked in the order in which their tables are declared. */
export function table<Declared extends Columns, Key extends keyof Declared & string>(
  name: string,
  key: readonly Key[],
  columns: Declared,
): Table<Declared, Key> {
  return { name, key, columns, lockOrder: declared++ }
}

/** The key of a row as one text: no two keys have the same. No text of the ledger contains NUL. */
export function keyText({ key }: Table, row: Readonly<Record<string, unknown>>): string {
  return key.map((name) => String(row[name])).join('\0')
}

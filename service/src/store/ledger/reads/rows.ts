import { bytesFrom } from '../../../domain/id-time.ts'
import type { Scope } from '../../../domain/records.ts'
import { idBytes, idPrefixes, idText, type IdKind } from '../../../domain/type-id.ts'
import type { RecordKey } from '../../lists.ts'
import { compileDecodeRecord } from '../compiled-rows.ts'
import { sqlName, type Column, type Table, type TableRow } from '../table.ts'
import { Sql, sql, type Reader } from '../../sql.ts'

/** A 64-bit integer as databases return it. */
export type Int = number | bigint | string

/** A row as a database returns it. */
export type RawRow = Readonly<Record<string, unknown>>

/** A table whose rows have ids. */
export type RecordTable = Table & { readonly columns: { readonly id: Column<string> } }

/** A table, by the name that reads use. */
export function from(table: Table): Sql {
  return new Sql((to) => sql.table(to.spelling.nameOf(table)).write(to))
}

/** An id as a parameter; null, which equals nothing, for an invalid id. */
export function id(kind: IdKind | 'nonce', text: string): Sql {
  const bytes = idBytes(kind, text)
  return bytes ? bytesOfId(bytes) : sql`null`
}

/** How far the time in an id may differ from the time of its record: clocks are set, and machines differ. */
export const clockSlackMs = 10 * 60_000

/** The smallest id or nonce of a time, as a parameter. */
export function firstIdAt(ms: number): Sql {
  return bytesOfId(bytesFrom(ms))
}

/** The 16 bytes of an id as a parameter. */
function bytesOfId(bytes: Buffer): Sql {
  return new Sql((to) => sql`${to.spelling.idParameter(bytes)}`.write(to))
}

/** Ids as parameters, without invalid ones. */
export function ids(kind: IdKind | 'nonce', texts: readonly string[]): Sql {
  const known = texts.filter((text) => idBytes(kind, text) !== undefined)
  return known.length === 0 ? sql`null` : sql.join(known.map((text) => id(kind, text)))
}

const crockford = '0123456789abcdefghjkmnpqrstvwxyz'
const suffixLength = 26
const lastBytes = Buffer.alloc(16, 0xff)

/** The first id that does not sort before a text, as a parameter. */
export function firstId(kind: IdKind, text: string): Sql {
  const prefix = `${idPrefixes[kind]}_`
  if (!text.startsWith(prefix)) return bytesOfId(text < prefix ? Buffer.alloc(16) : lastBytes)
  let digits = ''
  for (const character of text.slice(prefix.length, prefix.length + suffixLength)) {
    if (crockford.includes(character)) {
      digits += character
      continue
    }
    const next = crockford.split('').find((digit) => digit > character)
    digits = next === undefined ? digits.padEnd(suffixLength, 'z') : digits + next
    break
  }
  return bytesOfId(idBytes(kind, prefix + digits.padEnd(suffixLength, '0')) ?? lastBytes)
}

/** Whether a row is of an account. */
export function ofAccount(accountId: string): Sql {
  return sql`account_id = ${id('account', accountId)}`
}

/** Whether a row is of a scope. */
export function inScope({ accountId, environment }: Scope): Sql {
  return sql`${ofAccount(accountId)} and environment = ${environment}`
}

/** Whether a row of a table is the record with a key. */
export function hasKey(table: RecordTable, key: RecordKey): Sql {
  return sql`${inScope(key)} and id = ${id(kindOf(table), key.id)}`
}

/** The kind of the ids of a table's records. */
export function kindOf({ name, columns }: RecordTable): IdKind {
  const { idKind } = columns.id
  if (idKind === undefined || idKind === 'nonce') throw new TypeError(`${name} has no ids that sort by time`)
  return idKind
}

/** Every column of a table, as an SQL list; with a prefix, each is named with it. */
export function columnsOf({ columns }: Table, alias?: string, prefix?: string): Sql {
  const table = alias === undefined ? '' : `${alias}.`
  const listed = Object.keys(columns).map((name) => {
    const column = `${table}${sqlName(name)}`
    return prefix === undefined ? column : `${column} as ${prefix}${sqlName(name)}`
  })
  return sql.raw(listed.join(', '))
}

/** A row with all columns, which may be named with a prefix, from the database's result. */
export function rowOf<Of extends Table>(table: Of, raw: RawRow, prefix = ''): TableRow<Of> {
  const name = `${prefix} ${table.name}`
  let decode = decoders.get(name)
  if (!decode) decoders.set(name, (decode = compileDecoder(table, prefix)))
  try {
    return decode(raw) as TableRow<Of>
  } catch (error) {
    throw explainMalformed(error, table)
  }
}

/** A row with JSON that no service has written. */
export class MalformedRowError extends Error {
  override readonly name = 'MalformedRowError'
  readonly table: string

  constructor({ name }: Table, cause: SyntaxError) {
    super(`A row of the table ${name} contains malformed JSON`, { cause })
    this.table = name
  }
}

function explainMalformed(error: unknown, table: Table): unknown {
  return error instanceof SyntaxError ? new MalformedRowError(table, error) : error
}

/** The value of a JSON column. */
export function jsonFrom(table: Table, text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch (error) {
    throw explainMalformed(error, table)
  }
}

/** By prefix and table; callers use only a few. */
const decoders = new Map<string, (raw: RawRow) => RawRow>()

function compileDecoder({ columns }: Table, prefix: string): (raw: RawRow) => RawRow {
  const all = Object.entries(columns)
  return compileDecodeRecord(
    all.map(([name, column]) => ({ name, source: prefix + sqlName(name), decode: decoderOf(column) })),
  )
}

/**
 * Decodes the values of a column, from any database, except null: ids are bytes or text, integers have one of three types, and
 * bytes may be PostgreSQL's text.
 */
export function decoderOf({ kind, idKind = 'nonce' }: Column): (value: unknown) => unknown {
  switch (kind) {
    case 'id':
      return (value) => idFrom(idKind, value)
    case 'micro':
      return (value) => BigInt(value as bigint | string)
    case 'integer':
      return Number
    case 'json':
      return (value) => JSON.parse(value as string) as unknown
    case 'text':
      return (value) => value
    case 'bytes':
      return (value) => (typeof value === 'string' ? decodeBytes(value) : Buffer.from(value as Uint8Array))
    default:
      return kind satisfies never
  }
}

/** With `bytea_output = escape`, PostgreSQL writes a backslash twice, and unprintable bytes in octal. */
function decodeBytes(text: string): Buffer {
  if (text.startsWith('\\x')) return Buffer.from(text.slice(2), 'hex')
  const bytes = text.replace(/\\(\\|\d{3})/g, (_, escaped: string) =>
    escaped === '\\' ? escaped : String.fromCodePoint(Number.parseInt(escaped, 8)),
  )
  return Buffer.from(bytes, 'latin1')
}

/** The text of an id from a database. */
export function idFrom(kind: IdKind | 'nonce', value: unknown): string {
  if (typeof value !== 'string') return idText(kind, Buffer.from(value as Uint8Array))
  return kind === 'nonce' ? value : idText(kind, Buffer.from(value.replaceAll('-', ''), 'hex'))
}

/** The rows of a table that meet a condition, which may be followed by their order and a limit. */
export function findRows<Of extends Table>(db: Reader, table: Of, condition: Sql): Promise<TableRow<Of>[]> {
  return rowsOf(db, table, sql`select ${columnsOf(table)} from ${from(table)} where ${condition}`)
}

/** The first row of a table that meets a condition. */
export async function findRow<Of extends Table>(
  db: Reader,
  table: Of,
  condition: Sql,
): Promise<TableRow<Of> | undefined> {
  const [row] = await findRows(db, table, sql`${condition} limit 1`)
  return row
}

/** Whether any row of a table meets a condition. */
export async function hasRows(db: Reader, table: Table, condition: Sql): Promise<boolean> {
  const { rows } = await sql`select 1 from ${from(table)} where ${condition} limit 1`.execute(db)
  return rows.length > 0
}

/** How many rows of a table meet a condition. */
export async function countRows(db: Reader, table: Table, condition: Sql): Promise<number> {
  const { rows } = await sql<{ count: Int }>`
    select count(*) as count from ${from(table)} where ${condition}`.execute(db)
  return Number(rows[0]?.count)
}

/** The record with a key. */
export function findRecord<Of extends RecordTable>(
  db: Reader,
  table: Of,
  key: RecordKey,
): Promise<TableRow<Of> | undefined> {
  return findRow(db, table, hasKey(table, key))
}

/** The rows of a statement that selects all columns of a table. */
export async function rowsOf<Of extends Table>(
  db: Reader,
  table: Of,
  statement: Sql,
): Promise<TableRow<Of>[]> {
  const { rows } = await statement.execute(db)
  return rows.map((row) => rowOf(table, row as RawRow))
}

import { idBytes, idPrefixes, idText, type IdKind } from '../../../domain/type-id.ts'
import type { Metadata } from '../../../domain/records.ts'
import { sqlName, type Column, type Table, type TableRow } from '../table.ts'
import { sql, type Reader, type Sql } from '../../sql.ts'

/** A 64-bit integer as databases return it. */
export type Int = number | bigint | string

/** How to query the tables of a database. */
export interface TableDialect {
  /** The 16 bytes of an id as a parameter. */
  readonly idParameter: (bytes: Buffer) => unknown
  /** The table, or the view, with all columns of a declared table. */
  readonly nameOf: (table: Table) => string
}

/** The differences between databases. */
export interface ReadDialect extends TableDialect {
  /** A condition that ends a slow statement, for databases without a statement timeout. */
  readonly inTime: Sql
  /** Whether a column with a JSON object, or null, has a text under a name. */
  readonly hasText: (column: Sql, name: string, text: string) => Sql
  /** The entries of the account's own mandates, if they are found by mandate. */
  readonly entriesOfMandates: (mandateIds: readonly string[]) => Promise<Sql>
  /** The open payments of a mandate and an epoch, possibly with others, by expiry. */
  readonly indexedPayments: Sql
  /** The open payments that are not indexed yet, possibly with others; undefined if all are indexed. */
  readonly waitingPayments: Sql | undefined
  /** Joins the payment `p` to each entry `e` of an account; the entries are among those that `found` selects. */
  readonly joinPayments: (account: Sql, found: Sql) => Promise<Sql>
}

/** Whether a column with metadata has all of some texts. */
export function hasMetadata({ hasText }: ReadDialect, column: Sql, wanted: Metadata): Sql {
  const conditions = Object.entries(wanted).map(([name, text]) => hasText(column, name, text))
  return conditions.length === 0 ? sql`1 = 1` : sql.join(conditions, sql` and `)
}

/** For a database with the payments of all accounts in one place. */
export const joinPayments = () =>
  Promise.resolve(sql`left join payments p on p.account_id = e.payer_id and p.nonce = e.nonce`)

type RawRow = Readonly<Record<string, unknown>>

/** An id as a parameter; null, which equals nothing, for an invalid id. */
export function idOf({ idParameter }: TableDialect, kind: IdKind | 'nonce', text: string): Sql {
  const bytes = idBytes(kind, text)
  return bytes ? sql`${idParameter(bytes)}` : sql`null`
}

/** Ids as parameters, without invalid ones. */
export function idsOf(dialect: TableDialect, kind: IdKind, texts: readonly string[]): Sql {
  const known = texts.filter((text) => idBytes(kind, text) !== undefined)
  return known.length === 0 ? sql`null` : sql.join(known.map((text) => idOf(dialect, kind, text)))
}

const crockford = '0123456789abcdefghjkmnpqrstvwxyz'
const suffixLength = 26
const lastBytes = Buffer.alloc(16, 0xff)

/** The first id that does not sort before a text, as a parameter. */
export function boundOf({ idParameter }: ReadDialect, kind: IdKind, text: string): Sql {
  const prefix = `${idPrefixes[kind]}_`
  if (!text.startsWith(prefix)) return sql`${idParameter(text < prefix ? Buffer.alloc(16) : lastBytes)}`
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
  return sql`${idParameter(idBytes(kind, prefix + digits.padEnd(suffixLength, '0')) ?? lastBytes)}`
}

/** Every column of a table, as an SQL list. */
export function columnsOf({ columns }: Table, alias?: string): Sql {
  const prefix = alias === undefined ? '' : `${alias}.`
  return sql.raw(
    Object.keys(columns)
      .map((name) => prefix + sqlName(name))
      .join(', '),
  )
}

/** A table, by the name that reads use. */
export function tableOf(dialect: TableDialect, table: Table): Sql {
  return sql.table(dialect.nameOf(table))
}

/** A row with all columns, from the database's result. */
export function rowOf<Of extends Table>({ columns }: Of, raw: RawRow): TableRow<Of> {
  const row: Record<string, unknown> = {}
  for (const [name, column] of Object.entries(columns)) row[name] = valueOf(column, raw[sqlName(name)])
  return row as TableRow<Of>
}

/** A value of a column, from any database: ids are bytes or text, and integers have one of three types. */
export function valueOf({ kind, idKind = 'nonce' }: Column, value: unknown): unknown {
  if (value === null || value === undefined) return null
  switch (kind) {
    case 'id':
      return idFrom(idKind, value)
    case 'micro':
      return BigInt(value as string)
    case 'integer':
      return Number(value)
    case 'json':
      return JSON.parse(value as string)
    case 'text':
      return value
    case 'bytes':
      return Buffer.from(value as Uint8Array)
    default:
      return kind satisfies never
  }
}

/** The text of an id from a database. */
export function idFrom(kind: IdKind | 'nonce', value: unknown): string {
  if (typeof value !== 'string') return idText(kind, Buffer.from(value as Uint8Array))
  return kind === 'nonce' ? value : idText(kind, Buffer.from(value.replaceAll('-', ''), 'hex'))
}

/** The rows of a statement that selects all columns of a table. */
export async function findRows<Of extends Table>(
  db: Reader,
  table: Of,
  statement: Sql,
): Promise<TableRow<Of>[]> {
  const { rows } = await statement.execute(db)
  return rows.map((row) => rowOf(table, row as RawRow))
}

import { existsSync } from 'node:fs'

import { idText } from '../domain/type-id.ts'
import { storable } from '../store/ledger/postgres/connection.ts'
import { openSqliteFile, type SqliteDatabase } from '../store/ledger/sqlite/open.ts'
import { RowCodec, type SqlValue } from '../store/ledger/sqlite/row-codec.ts'
import { wholeName } from '../store/ledger/sqlite/schema.ts'
import { neededVersion, readSqliteVersion } from '../store/ledger/sqlite/schema-version.ts'
import { columnList, sqlName, type Column, type Table } from '../store/ledger/table.ts'
import { StoreOpenError } from '../store/open-error.ts'
import { copiedTables, type Row, type TableTotals } from './copied-tables.ts'

/** The ledger that is copied, locked against other processes. */
export interface SqliteSource {
  /** The rows of a table after a key, in order. */
  readonly rowsAfter: (table: Table, key: Row | undefined) => Iterable<Row>
  readonly totals: () => TableTotals[]
  /** The id of an account, which no other ledger has; undefined if there is none. */
  readonly anyAccountId: () => string | undefined
  readonly close: () => void
}

/**
 * Opens and locks a file as the source of a copy. Throws a `StoreOpenError` if it does not exist, is in use, or has another
 * schema than that of this release.
 */
export function openSqliteSource(path: string): SqliteSource {
  refuseUnlessCurrent(path)
  const { database, close } = openSqliteFile(path)
  database.function('storable_bytes', { deterministic: true }, (text: string) =>
    BigInt(Buffer.byteLength(storable(text))),
  )
  return {
    rowsAfter: (table, key) => readRows(database, table, key),
    totals: () => copiedTables.map((table) => addUp(database, table)),
    anyAccountId: () => {
      const bytes = database.prepare<[], Buffer>('select id from accounts order by id limit 1').pluck().get()
      return bytes && idText('account', bytes)
    },
    close,
  }
}

function refuseUnlessCurrent(path: string): void {
  const version = existsSync(path) ? readSqliteVersion(path) : undefined
  if (version === undefined) throw new StoreOpenError('copy_source_missing', { place: path })
  if (version < neededVersion) {
    throw new StoreOpenError('copy_source_old', { place: path, found: version, needed: neededVersion })
  }
}

function* readRows(database: SqliteDatabase, table: Table, after: Row | undefined): Iterable<Row> {
  const codec = new RowCodec(table)
  const key = columnList(table.key)
  const later = after ? `where (${key}) > (${table.key.map(() => '?').join(', ')})` : ''
  const select = database
    .prepare<SqlValue[], SqlValue[]>(
      `select ${columnList(codec.names)} from ${wholeName(table)} ${later} order by ${key}`,
    )
    .raw()
  const values = after ? codec.encoderOf(table.key)(after) : []
  for (const row of select.iterate(...values)) yield codec.decode(row.map(storable))
}

function addUp(database: SqliteDatabase, table: Table): TableTotals {
  const columns = Object.entries(table.columns)
  const row = database
    .prepare<[], Record<string, bigint>>(
      `select count(*) as row_count, ${columns.map(sumOf).join(', ')} from ${wholeName(table)}`,
    )
    .get()
  const sums = columns.map(([column, { kind }]) => {
    const name = sqlName(column)
    const low = row?.[name] ?? 0n
    const isNumber = kind === 'integer' || kind === 'micro'
    return [name, isNumber ? ((row?.[`${name}_high`] ?? 0n) << 32n) + low : low] as const
  })
  return { table: table.name, rows: row?.['row_count'] ?? 0n, columns: Object.fromEntries(sums) }
}

function sumOf([column, { kind }]: readonly [string, Column]): string {
  const name = sqlName(column)
  switch (kind) {
    case 'integer':
    case 'micro':
      // In two halves, because a sum of amounts may exceed SQLite's integers.
      return `coalesce(sum(${name} >> 32), 0) as ${name}_high, coalesce(sum(${name} & 4294967295), 0) as ${name}`
    case 'text':
    case 'json':
      // NUL is replaced in PostgreSQL, and takes more bytes there.
      return `coalesce(sum(
        case when instr(cast(${name} as blob), x'00') > 0 then storable_bytes(${name}) else octet_length(${name}) end
      ), 0) as ${name}`
    case 'id':
    case 'bytes':
      return `coalesce(sum(length(${name})), 0) as ${name}`
    default:
      return kind satisfies never
  }
}

import { existsSync } from 'node:fs'

import { storable } from '../ledger/postgres/connection.ts'
import { openSqliteFile, type SqliteDatabase } from '../ledger/sqlite/open.ts'
import { neededVersion, readSqliteVersion } from '../ledger/sqlite/schema-version.ts'
import { StoreOpenError } from '../store.ts'
import {
  copiedTables,
  leftOutColumns,
  type Column,
  type CopiedTable,
  type TableTotals,
  type Value,
} from './copied-tables.ts'

/** The ledger that is copied, which nobody else may use meanwhile. */
export interface SqliteSource {
  readonly path: string
  readonly columnsOf: (table: CopiedTable) => Column[]
  /** The rows of a table in the order of its key, those after a key; each in the order of `columnsOf`. */
  readonly rowsAfter: (table: CopiedTable, key: readonly Value[] | undefined) => Iterable<Value[]>
  readonly totals: () => TableTotals[]
  /** One of its accounts, which no other ledger has; undefined when there is none. */
  readonly anyAccountId: () => string | undefined
  readonly close: () => void
}

/**
 * Opens a file as the source of a copy, under the lock of the file. Throws a `StoreOpenError` when there
 * is none, a service uses it, or its schema is not the one of this release.
 */
export function openSqliteSource(path: string): SqliteSource {
  refuseUnlessCurrent(path)
  const { database, close } = openSqliteFile(path)
  database.function('storable_bytes', { deterministic: true }, (text: string) =>
    BigInt(Buffer.byteLength(storable(text))),
  )
  return {
    path,
    columnsOf: (table) => readColumns(database, table),
    rowsAfter: (table, key) => readRows(database, table, key),
    totals: () => copiedTables.map((table) => addUp(database, table)),
    anyAccountId: () =>
      database.prepare<[], string>('select id from accounts order by id limit 1').pluck().get(),
    close,
  }
}

function refuseUnlessCurrent(path: string): void {
  const version = existsSync(path) ? readSqliteVersion(path) : undefined
  if (version === undefined) throw new StoreOpenError(`There is no ledger at ${path}; correct --from`)
  if (version < neededVersion) {
    throw new StoreOpenError(
      `${path} has schema ${version}, and this release copies schema ${neededVersion}; run purser migrate up --database sqlite:${path} first`,
    )
  }
}

function readColumns(database: SqliteDatabase, { name }: CopiedTable): Column[] {
  const types = { text: 'text', integer: 'integer', blob: 'bytes' } as const
  return database
    .prepare<[string], { name: string; type: keyof typeof types }>(
      'select name, lower(type) as type from pragma_table_info(?)',
    )
    .all(name)
    .filter((column) => !leftOutColumns.includes(column.name))
    .map((column) => ({ name: column.name, type: types[column.type] }))
}

function* readRows(
  database: SqliteDatabase,
  table: CopiedTable,
  after: readonly Value[] | undefined,
): Iterable<Value[]> {
  const { name, key } = table
  const columns = readColumns(database, table).map((column) => column.name)
  const later = after ? `where (${key.join(', ')}) > (${key.map(() => '?').join(', ')})` : ''
  const select = database
    .prepare<Value[], Value[]>(
      `select ${columns.join(', ')} from ${name} ${later} order by ${key.join(', ')}`,
    )
    .raw()
  for (const row of select.iterate(...(after ?? []))) yield row.map(storable)
}

function addUp(database: SqliteDatabase, table: CopiedTable): TableTotals {
  const columns = readColumns(database, table)
  const row = database
    .prepare<[], Record<string, bigint>>(
      `select count(*) as row_count, ${columns.map(sumOf).join(', ')} from ${table.name}`,
    )
    .get()
  const sums = columns.map(({ name, type }) => {
    const low = row?.[name] ?? 0n
    return [name, type === 'integer' ? ((row?.[`${name}_high`] ?? 0n) << 32n) + low : low] as const
  })
  return { table: table.name, rows: row?.['row_count'] ?? 0n, columns: Object.fromEntries(sums) }
}

function sumOf({ name, type }: Column): string {
  switch (type) {
    case 'integer':
      // In two halves: the sum of amounts may pass what SQLite's integers hold.
      return `coalesce(sum(${name} >> 32), 0) as ${name}_high, coalesce(sum(${name} & 4294967295), 0) as ${name}`
    case 'text':
      // NUL is written in another way to PostgreSQL, and takes more bytes there.
      return `coalesce(sum(
        case when instr(cast(${name} as blob), x'00') > 0 then storable_bytes(${name}) else octet_length(${name}) end
      ), 0) as ${name}`
    case 'bytes':
      return `coalesce(sum(length(${name})), 0) as ${name}`
    default:
      return type satisfies never
  }
}

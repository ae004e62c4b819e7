import type { Pool } from 'pg'

import type { Statement } from '../../postgres/round-trip.ts'
import type { NetChange } from '../batch-facts.ts'
import type { RangeRead, RowRead } from '../operation.ts'
import { indexOf, sqlName, type Column, type Table } from '../table.ts'
import { columnTypes, decode, encodeArray } from './column-types.ts'
import { guardOf } from './schema.ts'

type Row = Readonly<Record<string, unknown>>

/** A row that was found, with the place of its read. */
export interface FoundRow {
  readonly place: number
  readonly row: Row
}

/**
 * Locks the rows with these keys in the order of the keys, so that transactions wait for each other in line and never in a
 * ring; answers the places of those that it has locked. Each key is looked up by itself: no plan goes through the table.
 */
export function lockRows(reads: readonly RowRead[], { waits }: LockOptions): Statement {
  const { table } = reads[0] as RowRead
  const { key, name } = table
  return {
    name: `purser_lock_${name}${waits ? '' : '_free'}`,
    text: `
      select place from (select * from ${unnest(columnsOf(table, key), 'one')} order by ${names(key)}) wanted
        cross join lateral (
          select from ${name} own where ${equal(key, 'own', 'wanted')} for no key update${skip(waits)}) locked`,
    values: arrays(
      columnsOf(table, key),
      reads.map((read) => read.key),
    ),
    decodeRow: ([place]): FoundRow => {
      const index = Number(place) - 1
      return { place: index, row: reads[index]?.key ?? {} }
    },
  }
}

interface LockOptions {
  /** Whether it waits for rows that another transaction has locked; else it leaves them out. */
  readonly waits: boolean
}

/** The rows with these keys. */
export function findRows(reads: readonly RowRead[]): Statement {
  const { table } = reads[0] as RowRead
  const { key, columns, name } = table
  const others = Object.keys(columns).filter((column) => !key.includes(column))
  return {
    name: `purser_find_${name}`,
    text: `
      select place${others.map((column) => `, found.${sqlName(column)}`).join('')}
      from ${unnest(columnsOf(table, key), 'wanted')}
        cross join lateral (select * from ${name} own where ${equal(key, 'own', 'wanted')} offset 0) found`,
    values: arrays(
      columnsOf(table, key),
      reads.map((read) => read.key),
    ),
    decodeRow: (fields): FoundRow => {
      const place = Number(fields[0]) - 1
      const row: Record<string, unknown> = {}
      // It has the key that was looked up: only the rest is sent and read.
      for (const column of key) row[column] = reads[place]?.key[column]
      for (const [index, column] of others.entries()) {
        row[column] = decode(columns[column] as Column, fields[index + 1] ?? null)
      }
      return { place, row }
    },
  }
}

/** The name of all ranges that are asked for by the same columns. */
export function shapeOf({ table, where, orderBy, after, upTo }: RangeRead): string {
  const bounds = `${after === undefined ? '' : '_after'}${upTo === undefined ? '' : '_to'}`
  return `${table.name}${maskOf(table, Object.keys(where))}_${sqlName(orderBy)}${bounds}`
}

/** Locks the rows of ranges of one shape, those of each in the order of the range; answers their keys. */
export function lockRanges(ranges: readonly RangeRead[], { waits }: LockOptions): Statement {
  const { table } = ranges[0] as RangeRead
  return askForRanges(ranges, {
    name: `purser_lock_${shapeOf(ranges[0] as RangeRead)}${waits ? '' : '_free'}`,
    columns: table.key,
    lock: ` for no key update of own${skip(waits)}`,
  })
}

/** The rows of ranges of one shape, in the order of each range. */
export function findRanges(ranges: readonly RangeRead[]): Statement {
  const [range] = ranges as readonly [RangeRead]
  return askForRanges(ranges, {
    name: `purser_range_${shapeOf(range)}`,
    columns: Object.keys(range.table.columns),
    lock: '',
  })
}

function askForRanges(
  ranges: readonly RangeRead[],
  {
    name,
    columns,
    lock,
  }: { readonly name: string; readonly columns: readonly string[]; readonly lock: string },
): Statement {
  const [{ table, where, orderBy, after, upTo }] = ranges as readonly [RangeRead]
  const equals = Object.keys(where).sort()
  const index = indexOf(table, equals, orderBy)
  const prefix = index.slice(0, equals.length)
  const ordered = table.columns[orderBy] as Column
  const limit: Column = { kind: 'integer', isNullable: false }
  const wanted = {
    ...columnsOf(table, equals),
    ...(after === undefined ? {} : { after_bound: ordered }),
    ...(upTo === undefined ? {} : { up_to_bound: ordered }),
    row_limit: limit,
  }
  // Rows are compared, and all columns of the index are ordered by, so that no other index gives the order: what is equal
  // to a parameter needs no order, and then any index would do that has the last columns.
  const bounded = [...prefix, orderBy]
  const conditions = [
    after === undefined
      ? `${tuple(prefix, 'own')} >= ${tuple(prefix, 'wanted')}`
      : `${tuple(bounded, 'own')} > ${tuple([...prefix, 'after_bound'], 'wanted')}`,
    upTo === undefined
      ? `${tuple(prefix, 'own')} <= ${tuple(prefix, 'wanted')}`
      : `${tuple(bounded, 'own')} <= ${tuple([...prefix, 'up_to_bound'], 'wanted')}`,
    ...(index === table.key ? [] : [`own.${guardOf(index)}`]),
  ]
  return {
    name,
    text: `
      select place${columns.map((column) => `, found.${sqlName(column)}`).join('')}
      from ${unnest(wanted, 'wanted')}
        cross join lateral (
          select own.* from ${table.name} own where ${conditions.join(' and ')}
          order by ${index.map((column) => `own.${sqlName(column)}`).join(', ')} limit wanted.row_limit${lock}) found`,
    values: arrays(
      wanted,
      ranges.map((range) => ({
        ...range.where,
        after_bound: range.after,
        up_to_bound: range.upTo,
        row_limit: range.limit,
      })),
    ),
    decodeRow: (fields): FoundRow => ({
      place: Number(fields[0]) - 1,
      row: Object.fromEntries(
        columns.map((column, index) => [
          column,
          decode(table.columns[column] as Column, fields[index + 1] ?? null),
        ]),
      ),
    }),
  }
}

/** Every row of a table, in no order. */
export async function readTable(pool: Pool, { name, columns }: Table): Promise<readonly Row[]> {
  const entries = Object.entries(columns)
  // As text, as the driver reads them.
  const fields = Object.keys(columns).map((column) => `${sqlName(column)}::text`)
  const { rows } = await pool.query<(string | null)[]>({
    text: `select ${fields.join(', ')} from ${name}`,
    rowMode: 'array',
  })
  return rows.map((row) =>
    Object.fromEntries(
      entries.map(([column, declared], index) => [column, decode(declared, row[index] ?? null)]),
    ),
  )
}

/** What a transaction writes: one statement for each table and kind of change. */
export function writeStatements(changes: readonly NetChange[]): Statement[] {
  const byKind = new Map<string, NetChange[]>()
  for (const change of changes.filter(isReal)) {
    const kind = `${change.table.name} ${change.before !== undefined} ${change.now !== undefined}`
    const same = byKind.get(kind)
    if (same) same.push(change)
    else byKind.set(kind, [change])
  }
  return [...byKind.values()].map((same) => {
    const [{ before, now }] = same as [NetChange]
    if (!before) return insertRows(same)
    return now ? updateRows(same) : deleteRows(same)
  })
}

/** Whether a row is another one afterwards: an operation may put one that is as it was. */
function isReal({ table, before, now }: NetChange): boolean {
  return !before || !now || Object.keys(table.columns).some((column) => before[column] !== now[column])
}

/** Columns that are null in every row are left out. */
function insertRows(changes: readonly NetChange[]): Statement {
  const { table } = changes[0] as NetChange
  const { name, columns } = table
  const rows = changes.map(({ now }) => now as Row)
  const filled = Object.keys(columns).filter((column) => rows.some((row) => row[column] !== null))
  return {
    name: `purser_insert_${name}${maskOf(table, filled)}`,
    text: `insert into ${name} (${names(filled)}) select ${names(filled)} from ${unnest(columnsOf(table, filled), 'added')}`,
    values: arrays(columnsOf(table, filled), rows),
  }
}

/** Only columns that change in one of the rows are sent and written. */
function updateRows(changes: readonly NetChange[]): Statement {
  const { table } = changes[0] as NetChange
  const { name, columns, key } = table
  const changed = Object.keys(columns).filter((column) =>
    changes.some(({ before, now }) => before?.[column] !== now?.[column]),
  )
  const sent = columnsOf(table, [...key, ...changed])
  const sets = changed.map((column) => `${sqlName(column)} = changed.${sqlName(column)}`)
  return {
    name: `purser_update_${name}${maskOf(table, changed)}`,
    text: counted(`update ${name} own set ${sets.join(', ')} from ${located(table, sent, 'changed')}`),
    values: arrays(
      sent,
      changes.map(({ now }) => now as Row),
    ),
  }
}

function deleteRows(changes: readonly NetChange[]): Statement {
  const { table } = changes[0] as NetChange
  const sent = columnsOf(table, table.key)
  return {
    name: `purser_delete_${table.name}`,
    text: counted(`delete from ${table.name} own using ${located(table, sent, 'removed')}`),
    values: arrays(
      sent,
      changes.map(({ before }) => before as Row),
    ),
  }
}

/**
 * A change that fails unless it finds every row that it names. A row that was read and locked and is gone is a bug, of which
 * nothing may be committed.
 */
function counted(change: string): string {
  return `with done as (${change} returning 1) select 1 / (count(*) = cardinality($1))::int from done`
}

/**
 * The parameters of a change, each with the place of its row. Joined to the table by the key, they could be joined the other
 * way round, which reads the whole table.
 */
function located({ name, key }: Table, sent: Readonly<Record<string, Column>>, alias: string): string {
  return `${unnest(sent, alias)} cross join lateral (
    select one.ctid from ${name} one where ${equal(key, 'one', alias)} offset 0) found where own.ctid = found.ctid`
}

function columnsOf({ columns }: Table, chosen: readonly string[]): Readonly<Record<string, Column>> {
  return Object.fromEntries(chosen.map((name) => [name, columns[name] as Column]))
}

/** The parameters of a statement as a table, one array for each column; `place` counts its rows from 1. */
function unnest(columns: Readonly<Record<string, Column>>, alias: string): string {
  const types = Object.values(columns).map(({ kind }, index) => `$${index + 1}::${columnTypes[kind].name}[]`)
  return `unnest(${types.join(', ')}) with ordinality as ${alias} (${names([...Object.keys(columns), 'place'])})`
}

function arrays(columns: Readonly<Record<string, Column>>, rows: readonly Row[]): Buffer[] {
  return Object.entries(columns).map(([name, column]) =>
    encodeArray(
      column,
      rows.map((row) => row[name]),
    ),
  )
}

function names(columns: readonly string[]): string {
  return columns.map(sqlName).join(', ')
}

function equal(columns: readonly string[], one: string, other: string): string {
  return columns.map((name) => `${one}.${sqlName(name)} = ${other}.${sqlName(name)}`).join(' and ')
}

function tuple(columns: readonly string[], alias: string): string {
  return `(${columns.map((name) => `${alias}.${sqlName(name)}`).join(', ')})`
}

function skip(waits: boolean): string {
  return waits ? '' : ' skip locked'
}

/** Which columns of a table a statement has, as a short text for its name. */
function maskOf({ columns }: Table, chosen: readonly string[]): string {
  const mask = Object.keys(columns).reduce((bits, name) => bits * 2n + (chosen.includes(name) ? 1n : 0n), 1n)
  return `_${mask.toString(36)}`
}

// Longer than 400 lines: all statements of the driver are generated here from the tables.
import { createHash } from 'node:crypto'

import type { Statement } from './round-trip.ts'
import type { NetChange } from '../driver.ts'
import { KeyMap } from '../key-map.ts'
import type { RangeRead, Read, RowRead } from '../operation.ts'
import {
  canHoldAll,
  columnList,
  indexOf,
  keyText,
  sqlName,
  sumsOnConflict,
  type Column,
  type Row,
  type Table,
} from '../table.ts'
import { columnsIn, compileDecodeRow, compileTakeChanged, type DecodeRow } from '../compiled-rows.ts'
import { decoderOf } from '../reads/rows.ts'
import { columnTypes, encodeValue } from './column-types.ts'
import { RowList, type NamedColumn } from './row-list.ts'
import { guardOf } from './schema.ts'

/** A row that was found or locked, with its read. */
export interface FoundRow {
  readonly read: Read
  /** For a locked row, only the key. */
  readonly row: Row
  /** The transaction that wrote it, if it was read by key. */
  readonly version: string | null
}

export interface ReadOptions {
  /** Locks the rows instead of reading them; skips those that another transaction has locked, or waits for it. */
  readonly lock?: 'skip' | 'wait'
  readonly isDistributed: boolean
}

/**
 * Reads or locks rows by key, or in ranges of one shape. Each key is looked up separately, so that no plan
 * scans the table, and keys are locked in order, so that transactions cannot deadlock. Several groups of
 * reads make one statement, whose columns are text, padded with nulls.
 */
export function readRows(groups: readonly (readonly Read[])[], options: ReadOptions): Statement {
  const { lock } = options
  const parts = groups.map((reads) => partOf(reads, options))
  const width = Math.max(...parts.map(({ selection }) => selection.columns.length))
  const cast = parts.length > 1 ? '::text' : ''
  const shape = parts.map(({ first, list }) => `${shapeOf(first)} ${list.shape}`).join()
  return {
    ...prepared(
      lock ? `lock_${lock}` : 'find',
      parts.length > 1 ? '' : parts[0]!.first.table.name,
      shape,
      () => {
        let parameters = 0
        const selects = parts.map(({ first, selection: { columns }, list }, part) => {
          const source = sourceOf(first, list.machineOf(first.table, parameters))
          const rows = list.sql('wanted', parameters)
          parameters += list.values.length
          const version = first.kind === 'row' && !lock ? 'row_version' : 'null'
          const found = columns.map((name) => `found.${sqlName(name)}${cast}`)
          const padding = Array<string>(width - columns.length).fill('null')
          return `
          select ${[part, 'place', version, ...found, ...padding].join(', ')} from ${rows}
            cross join lateral (${source}${lock ? lockings[lock] : ''}) found`
        })
        return selects.join(' union all ')
      },
    ),
    values: parts.flatMap(({ list }) => list.values),
    decodeRow: (fields): FoundRow => {
      const { reads, selection } = parts[Number(fields[0])]!
      const read = reads[Number(fields[1]) - 1]!
      return { read, row: selection.decode(fields, 3), version: fields[2] ?? null }
    },
  }
}

const lockings = { skip: ' for no key update skip locked', wait: ' for no key update' } as const

/** Reads of one shape, with the selected columns and the parameters. */
interface Part {
  readonly first: Read
  readonly reads: readonly Read[]
  readonly selection: Selection
  readonly list: RowList
}

function partOf(reads: readonly Read[], { lock, isDistributed }: ReadOptions): Part {
  const [first] = reads as readonly [Read]
  const { keyColumns, whole, key } = layoutOf(first.table)
  const selection = lock ? key : whole
  if (first.kind === 'range') {
    const list = new RowList(columnsOfRange(first), reads.map(parametersOf), { isDistributed })
    return { first, reads, selection, list }
  }
  const ordered = lock ? inKeyOrder(first.table, reads, valuesOf) : reads
  const list = new RowList(keyColumns, ordered.map(parametersOf), { isDistributed })
  return { first, reads: ordered, selection, list }
}

function inKeyOrder<Item>(table: Table, items: readonly Item[], rowOf: (item: Item) => Row): readonly Item[] {
  return items
    .map((item) => ({ item, key: keyText(table, rowOf(item)) }))
    .sort((one, other) => (one.key < other.key ? -1 : 1))
    .map(({ item }) => item)
}

/** The rows of one read, whose parameters are named `wanted`. */
function sourceOf(read: Read, machine: string): string {
  if (read.kind === 'range') return rangeOf(read, machine)
  const { name, key } = read.table
  return `select own.xmin as row_version, own.* from ${name} own where ${machine}${equal(key, 'own', 'wanted')} offset 0`
}

/** Equal for reads of one table that differ only in their values. */
export function shapeOf(read: Read): string {
  if (read.kind === 'row') return read.table.name
  const { table, where, orderBy, after, upTo } = read
  const bounds = `${after === undefined ? '' : '_after'}${upTo === undefined ? '' : '_to'}`
  return `${table.name} ${Object.keys(where).sort().join()} ${orderBy}${bounds}`
}

/** Whether a read can find anything: one by an invalid id cannot. */
export function canFind(read: Read): boolean {
  return canHoldAll(read.table, valuesOf(read), read.kind === 'row' ? read.table.key : undefined)
}

export function valuesOf(read: Read): Row {
  return read.kind === 'row' ? read.key : read.where
}

/** The parameters of a read. The bounds of a range are not named like columns. */
function parametersOf(read: Read): Row {
  if (read.kind === 'row') return read.key
  return { ...read.where, after_bound: read.after, up_to_bound: read.upTo, row_limit: read.limit }
}

function columnsOfRange({ table, where, orderBy, after, upTo }: RangeRead): NamedColumn[] {
  const ordered = table.columns[orderBy] as Column
  const wanted = columnsOf(table, Object.keys(where).sort())
  if (after !== undefined) wanted.push(['after_bound', ordered])
  if (upTo !== undefined) wanted.push(['up_to_bound', ordered])
  return [...wanted, ['row_limit', { kind: 'integer', isNullable: false }]]
}

/** The rows of one range, in order. */
function rangeOf({ table, where, orderBy, after, upTo }: RangeRead, machine: string): string {
  const equals = Object.keys(where)
  const index = indexOf(table, equals, orderBy)
  const prefix = index.slice(0, equals.length)
  // Compares rows and orders by every column of the index, so that the planner uses no other index: with `column = $1` it
  // could use any index that has the last columns.
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
  return `
    select own.* from ${table.name} own where ${machine}${conditions.join(' and ')}
    order by ${index.map((column) => `own.${sqlName(column)}`).join(', ')} limit wanted.row_limit`
}

/** The transaction that wrote a row, for the row object as it was read. */
type Versions = ReadonlyMap<Row, string | null>

export type ShardOf = (table: Table, row: Row) => number | undefined

interface WriteOptions {
  /** With versions, a change fails if its row has been written since. */
  readonly versions?: Versions
  /** For a distributed database. */
  readonly shardOf?: ShardOf | undefined
}

/** Writes changes table by table, with one statement for each kind of change. */
export function writeStatements(changes: readonly NetChange[], options: WriteOptions = {}): Statement[] {
  const { shardOf } = options
  const groups = Map.groupBy(changes, ({ table, before, now }) => {
    const shard = shardOf ? shardOf(table, (now ?? before)!) : ''
    return `${table.name} ${before !== undefined} ${now !== undefined} ${shard}`
  })
  return [...groups.values()]
    .sort(([one], [other]) => one!.table.lockOrder - other!.table.lockOrder)
    .map((same) => (same[0]!.before ? changeRows(same, options) : insertRows(same, options)))
}

/** Whether a change changes anything: an operation may put an equal row. */
export function isReal({ table, before, now }: NetChange): boolean {
  return !before || !now || layoutOf(table).changedColumns(before, now) !== 0
}

function insertRows(changes: readonly NetChange[], { shardOf }: WriteOptions): Statement {
  const { table } = changes[0]!
  const rows = changes.map(({ now }) => now!)
  // Rows that are added up are not locked before, so each transaction writes them in the order of their keys.
  const added = table.sums ? inKeyOrder(table, rows, (row) => row) : rows
  // Omits columns that are null in every row.
  const all = Object.keys(table.columns)
  const needed = all.filter((name) => rows.some((row) => row[name] !== null))
  const filled = shardOf ? needed : namedIn(`insert ${table.name}`, needed, all)
  const columns = columnsOf(table, filled)
  if (shardOf) return insertValues(table, columns, added)
  const list = new RowList(columns, added)
  return {
    ...prepared('insert', table.name, list.shape, () =>
      insertText(table, filled, `select ${columnList(filled)} from ${list.sql('added')}`),
    ),
    values: list.values,
  }
}

/**
 * Lists the rows as values: Citus would copy selected rows to the other machine, and report every failure of that with the same
 * code. Not prepared, because each number of rows is another statement.
 */
function insertValues(table: Table, columns: readonly NamedColumn[], rows: readonly Row[]): Statement {
  let parameters = 0
  const lists = rows.map(
    () => `(${columns.map(([, { kind }]) => `$${++parameters}::${columnTypes[kind].name}`).join(', ')})`,
  )
  const filled = columns.map(([name]) => name)
  return {
    text: insertText(table, filled, `values ${lists.join(', ')}`),
    values: rows.flatMap((row) => columns.map(([name, column]) => encodeValue(column, row[name]))),
  }
}

function insertText({ name, key, sums }: Table, filled: readonly string[], source: string): string {
  const addingUp = sums ? ` on conflict (${columnList(key)}) do ${sumsOnConflict(name, sums)}` : ''
  return `insert into ${name} (${columnList(filled)}) ${source}${addingUp}`
}

/** Updates or deletes rows. An update sends and writes only columns that change in one of them. */
function changeRows(changes: readonly NetChange[], { versions, shardOf }: WriteOptions): Statement {
  const { table, now: isUpdate } = changes[0]!
  const { name, key } = table
  const changed = isUpdate ? changedIn(table, changes) : []
  const rows = changes.map(({ before, now }) => (now ?? before)!)
  const list = new RowList(columnsOf(table, [...key, ...changed]), rows, {
    isDistributed: shardOf !== undefined,
    versions: versions && changes.map(({ before }) => versions.get(before!) ?? null),
  })
  return {
    ...prepared(isUpdate ? 'update' : 'delete', name, list.shape, () => {
      const sets = changed.map((column) => `${sqlName(column)} = changed.${sqlName(column)}`)
      const located = locate(table, list)
      return counted(
        isUpdate
          ? `update ${name} own set ${sets.join(', ')} from ${located}`
          : `delete from ${name} own using ${located}`,
      )
    }),
    values: list.values,
  }
}

function changedIn(table: Table, changes: readonly NetChange[]): readonly string[] {
  const { whole, changeable, changedColumns } = layoutOf(table)
  const masks = new Set(changes.map(({ before, now }) => changedColumns(before!, now!)))
  return namedIn(`update ${table.name}`, columnsIn(masks, whole.columns), changeable)
}

/**
 * Max combinations of columns that statements of one kind and table are prepared for. Each connection keeps a plan of each, and
 * the calls of a batch decide which columns they combine.
 */
const maxCombinations = 32
const combinations = new Map<string, Set<string>>()

/** The columns that a statement names: those that it needs, or all of them if there are too many combinations already. */
function namedIn(kind: string, needed: readonly string[], all: readonly string[]): readonly string[] {
  const known = combinations.get(kind) ?? new Set()
  combinations.set(kind, known)
  const combination = needed.join()
  if (!known.has(combination) && known.size >= maxCombinations) return [...new Set([...all, ...needed])]
  known.add(combination)
  return needed
}

/** Makes a change fail unless it finds every row: if a locked row is gone, that is a bug, and nothing must be committed. */
function counted(change: string): string {
  return `with done as (${change} returning 1) select 1 / (count(*) = cardinality($1))::int from done`
}

/**
 * The parameters of a change, each with the location of its row. With a plain join by key, the planner could scan the whole
 * table and look up the parameters.
 */
function locate(table: Table, list: RowList): string {
  const { name, key } = table
  const changed = list.sql('changed')
  const unchanged = list.hasVersions ? ' and own.xmin = changed.row_version' : ''
  // A distributed statement is planned on every run, for the current tables.
  if (list.isDistributed)
    return `${changed} where ${list.machineOf(table)}${equal(key, 'own', 'changed')}${unchanged}`
  return `${changed} cross join lateral (
    select one.ctid from ${name} one where ${equal(key, 'one', 'changed')} offset 0) found
    where own.ctid = found.ctid${unchanged}`
}

/** A read by key, and the transaction that wrote the row; null if there was no row. */
export interface RowVersion {
  readonly read: RowRead
  readonly version: string | null
}

/**
 * Fails with code 2201E, which has no other cause, unless every row has its version; one statement for each machine. The
 * result of the last is the id of the transaction, if it has written anything and is not distributed. Only the commit may
 * follow, since a write may wait for a lock. A missing row that is now added is checked by its primary key.
 */
export function checkRows(
  rows: readonly RowVersion[],
  changes: readonly NetChange[],
  shardOf?: ShardOf,
): Statement[] {
  const missing = new Set(rows.flatMap(({ read, version }) => (version === null ? [read.table] : [])))
  const added = new KeyMap<true>()
  for (const { table, before, now } of changes) {
    if (now && !before && missing.has(table)) added.set(table, now, true)
  }
  const checked = rows.filter(({ read, version }) => version !== null || !added.get(read.table, read.key))
  if (!shardOf) return [checkVersions(checked, { isDistributed: false })]
  const byShard = Map.groupBy(checked, ({ read }) => shardOf(read.table, read.key))
  return [...byShard.values()].map((same) => checkVersions(same, { isDistributed: true }))
}

function checkVersions(
  rows: readonly RowVersion[],
  { isDistributed }: Pick<ReadOptions, 'isDistributed'>,
): Statement {
  const byTable = Map.groupBy(rows, ({ read }) => read.table)
  // In one order, so that reads in another order share the statement.
  const inOrder = [...byTable].sort(([one], [other]) => one.lockOrder - other.lockOrder)
  const parts = inOrder.map(([table, same]) => {
    const versions = same.map(({ version }) => version)
    const keys = same.map(({ read }) => read.key)
    return { table, list: new RowList(layoutOf(table).keyColumns, keys, { isDistributed, versions }) }
  })
  const shape = parts.map(({ table, list }) => `${table.name} ${list.shape}`).join()
  return {
    ...prepared('check', '', shape, () => {
      let parameters = 1
      const counts = parts.map(({ table, list }) => {
        const machine = list.machineOf(table, parameters)
        const wanted = list.sql('wanted', parameters)
        parameters += list.values.length
        return `(select count(*) from ${wanted} where (
          select own.xmin from ${table.name} own where ${machine}${equal(table.key, 'own', 'wanted')}) is not distinct from wanted.row_version)`
      })
      const id = isDistributed ? 'null' : 'pg_current_xact_id_if_assigned()::xid'
      return `select ${id}, ln((${['0', ...counts].join(' + ')} = $1::int)::int)`
    }),
    values: [rows.length, ...parts.flatMap(({ list }) => list.values)],
    decodeRow: ([id]) => id ?? undefined,
  }
}

/** The columns that a statement selects, and how a row is made of them. */
interface Selection {
  readonly columns: readonly string[]
  readonly decode: DecodeRow<string | null>
}

interface Layout {
  readonly keyColumns: readonly NamedColumn[]
  readonly whole: Selection
  readonly key: Selection
  /** The columns that an update may set. */
  readonly changeable: readonly string[]
  /** In which columns two rows differ, as a bit mask. */
  readonly changedColumns: (from: Row, to: Row) => number
}

const layouts = new Map<Table, Layout>()

function layoutOf(table: Table): Layout {
  let layout = layouts.get(table)
  if (!layout) {
    const all = Object.keys(table.columns)
    const takeChanged = compileTakeChanged(all.map((name) => ({ name, encode: (value) => value })))
    layout = {
      keyColumns: columnsOf(table, table.key),
      whole: select(table, all),
      key: select(table, table.key),
      changeable: all.filter((name) => ![table.key, ...table.indexes].flat().includes(name)),
      changedColumns: (from, to) => takeChanged(from, to, []),
    }
    layouts.set(table, layout)
  }
  return layout
}

export function select(table: Table, columns: readonly string[]): Selection {
  const decoders = columnsOf(table, columns).map(([name, column]) => ({ name, decode: decoderOf(column) }))
  return { columns, decode: compileDecodeRow<string | null>(decoders) }
}

function columnsOf({ columns }: Table, chosen: readonly string[]): NamedColumn[] {
  return chosen.map((name) => [name, columns[name] as Column])
}

type Prepared = Required<Pick<Statement, 'name' | 'text'>>

const preparedStatements = new Map<string, Prepared>()

/**
 * A prepared statement, whose text is built once per shape. Its name contains a hash of the text, because a pooler may share it
 * with a process of another release.
 */
function prepared(verb: string, table: string, shape: string, makeText: () => string): Prepared {
  const id = `${verb} ${table} ${shape}`
  const found = preparedStatements.get(id)
  if (found) return found
  const text = makeText()
  const digest = createHash('sha256').update(text).digest('hex').slice(0, 12)
  const made = { name: `purser_${verb}_${table}_${digest}`, text }
  preparedStatements.set(id, made)
  return made
}

function equal(columns: readonly string[], one: string, other: string): string {
  return columns.map((name) => `${one}.${sqlName(name)} = ${other}.${sqlName(name)}`).join(' and ')
}

function tuple(columns: readonly string[], alias: string): string {
  return `(${columns.map((name) => `${alias}.${sqlName(name)}`).join(', ')})`
}

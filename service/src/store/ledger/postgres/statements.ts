import { createHash } from 'node:crypto'

import type { Pool } from 'pg'

import type { Statement } from './round-trip.ts'
import type { NetChange } from '../driver.ts'
import type { RangeRead, Read, RowRead } from '../operation.ts'
import { indexOf, sqlName, type Column, type Table } from '../table.ts'
import { columnTypes, decoderOf, encodeArray, encodeValue } from './column-types.ts'
import { guardOf } from './schema.ts'

type Row = Readonly<Record<string, unknown>>

/** A row that was found or locked, with its read. */
export interface FoundRow {
  readonly read: Read
  /** For a locked row, at least the key. */
  readonly row: Row
  /** The transaction that wrote it, if it was read by key. */
  readonly version?: string | undefined
}

/**
 * Locks rows of a table by key or in ranges, in the order of their keys, so that transactions cannot deadlock. Returns those
 * that it has locked. Each key is looked up separately, so that no plan scans the table.
 */
export function lockRows(reads: readonly Read[], { waits, isDistributed = false }: LockOptions): Statement {
  const { table } = reads[0] as Read
  const { key, name } = table
  const parts = [...Map.groupBy(reads, (read) => (read.kind === 'row' ? 'rows' : shapeOf(read)))]
  const keyColumns = columnsOf(table, key)
  const lists = parts.map(([, [first]]) => (first?.kind === 'range' ? columnsOfRange(first) : keyColumns))
  const shape = parts.map(([shape]) => shape).join(' ')
  return {
    ...prepared(`lock${waits ? '' : '_free'}${suffixOf(isDistributed)}`, table, shape, () => {
      let parameters = 0
      const firsts: number[] = []
      const selects = parts.map(([, [first]], part) => {
        const list = listOf(lists[part] ?? [], 'wanted', { before: parameters })
        firsts.push(parameters + 1)
        const machine = machineOf(table, isDistributed, [parameters + 1])
        parameters += lists[part]?.length ?? 0
        if (first?.kind !== 'range') return `select ${part} as part, place, ${names(key)} from ${list}`
        const found = key.map((column) => `found.${sqlName(column)}`).join(', ')
        return `select ${part} as part, place, ${found} from ${list} cross join lateral (${rangeOf(first, machine)}) found`
      })
      const machine = machineOf(table, isDistributed, firsts)
      return `
        select part, place, ${names(key)} from (${selects.join(' union all ')} order by ${names(key)}) wanted
          cross join lateral (
            select from ${name} own where ${machine}${equal(key, 'own', 'wanted')} for no key update${waits ? '' : ' skip locked'}) locked`
    }),
    values: parts.flatMap(([, same], part) => arrays(lists[part] ?? [], same.map(parametersOf))),
    decodeRow: (fields): FoundRow => {
      const read = parts[Number(fields[0])]?.[1][Number(fields[1]) - 1]
      if (read?.kind === 'row') return { read, row: read.key }
      return { read: read as Read, row: decodeInto({}, layoutOf(table).key, fields, 2) }
    },
  }
}

interface LockOptions {
  /** Whether it waits for rows that another transaction has locked; otherwise it skips them. */
  readonly waits: boolean
  readonly isDistributed?: boolean
}

/**
 * A condition on the accounts, which are the first parameter of every list of keys. A database that distributes accounts over
 * machines needs it to see that the statement is for one machine.
 */
function machineOf({ key }: Table, isDistributed: boolean, parameters: readonly number[]): string {
  if (!isDistributed || key[0] !== 'accountId') return ''
  return `own.account_id = any (${parameters.map((parameter) => `$${parameter}::uuid[]`).join(' || ')}) and `
}

function suffixOf(isDistributed: boolean): string {
  return isDistributed ? '_distributed' : ''
}

/** The rows with these keys. */
export function findRows(reads: readonly RowRead[]): Statement {
  const { table } = reads[0] as RowRead
  const { key, name } = table
  const { others, keyColumns } = layoutOf(table)
  const isOne = reads.length === 1
  return {
    ...prepared(
      'find',
      table,
      shapeOfList(isOne),
      () => `
      select place, row_version${others.map((column) => `, found.${sqlName(column.name)}`).join('')}
      from ${listOf(keyColumns, 'wanted', { isOne })}
        cross join lateral (select own.xmin as row_version, own.* from ${name} own where ${equal(key, 'own', 'wanted')} offset 0) found`,
    ),
    values: parametersOfList(keyColumns, reads.map(parametersOf), isOne),
    decodeRow: (fields): FoundRow => {
      const read = reads[Number(fields[0]) - 1] as RowRead
      // The key is known, so only the other columns are sent.
      const row: Record<string, unknown> = {}
      for (const column of key) row[column] = read.key[column]
      return { read, row: decodeInto(row, others, fields, 2), version: fields[1] as string }
    },
  }
}

/**
 * The rows with these keys of several tables on one machine, in one statement, because a distributed database takes longer to
 * plan a statement than to run it. Their columns are text, padded with nulls.
 */
export function findDistributedRows(groups: readonly (readonly RowRead[])[]): Statement {
  const layouts = groups.map((reads) => layoutOf((reads[0] as RowRead).table))
  const width = Math.max(...layouts.map(({ others }) => others.length))
  const tables = groups.map((reads) => (reads[0] as RowRead).table)
  return {
    ...prepared('find_distributed', { name: '' }, tables.map(({ name }) => name).join(), () => {
      let parameters = 0
      const selects = tables.map((table, part) => {
        const { keyColumns, others } = layouts[part] as Layout
        const list = listOf(keyColumns, 'wanted', { before: parameters })
        const machine = machineOf(table, true, [parameters + 1])
        parameters += table.key.length
        const columns = Array.from({ length: width }, (_, index) =>
          others[index] === undefined ? 'null' : `found.${sqlName(others[index].name)}::text`,
        )
        return `
          select ${[`${part} as part`, 'place', 'row_version::text', ...columns].join(', ')} from ${list}
          cross join lateral (
            select own.xmin as row_version, own.* from ${table.name} own
            where ${machine}${equal(table.key, 'own', 'wanted')} offset 0) found`
      })
      return selects.join(' union all ')
    }),
    values: groups.flatMap((reads, part) =>
      arrays((layouts[part] as Layout).keyColumns, reads.map(parametersOf)),
    ),
    decodeRow: (fields): FoundRow => {
      const read = groups[Number(fields[0])]?.[Number(fields[1]) - 1] as RowRead
      const row = decodeInto({ ...read.key }, layoutOf(read.table).others, fields, 3)
      return { read, row, version: fields[2] as string }
    },
  }
}

interface Decoded {
  readonly name: string
  readonly decode: (value: string | null) => unknown
}

interface Layout {
  readonly keyColumns: readonly NamedColumn[]
  readonly key: readonly Decoded[]
  /** The columns besides the key. */
  readonly others: readonly Decoded[]
  readonly all: readonly Decoded[]
}

const layouts = new Map<Table, Layout>()

function layoutOf(table: Table): Layout {
  let layout = layouts.get(table)
  if (!layout) {
    const all = Object.entries(table.columns).map(([name, column]) => ({ name, decode: decoderOf(column) }))
    const key = table.key.flatMap((name) => all.filter((column) => column.name === name))
    const others = all.filter(({ name }) => !table.key.includes(name))
    layout = { keyColumns: columnsOf(table, table.key), key, others, all }
    layouts.set(table, layout)
  }
  return layout
}

/** Adds the columns of a result to a row, from a position on. */
function decodeInto(
  row: Record<string, unknown>,
  columns: readonly Decoded[],
  fields: readonly (string | null)[],
  start: number,
): Row {
  for (let index = 0; index < columns.length; index++) {
    const { name, decode } = columns[index]!
    row[name] = decode(fields[start + index] ?? null)
  }
  return row
}

/** Equal for ranges that differ only in their values. */
export function shapeOf({ table, where, orderBy, after, upTo }: RangeRead): string {
  const bounds = `${after === undefined ? '' : '_after'}${upTo === undefined ? '' : '_to'}`
  return `${Object.keys(where).sort().join()} ${table.name} ${orderBy}${bounds}`
}

/** The rows of ranges of one shape, each in its order. */
export function findRanges(ranges: readonly RangeRead[], isDistributed = false): Statement {
  const [range] = ranges as readonly [RangeRead]
  const { table } = range
  const { all } = layoutOf(table)
  const wanted = columnsOfRange(range)
  return {
    ...prepared(
      `range${suffixOf(isDistributed)}`,
      table,
      shapeOf(range),
      () => `
      select place${all.map(({ name }) => `, found.${sqlName(name)}`).join('')}
      from ${listOf(wanted, 'wanted')} cross join lateral (${rangeOf(range, machineOf(table, isDistributed, [1]))}) found`,
    ),
    values: arrays(wanted, ranges.map(parametersOf)),
    decodeRow: (fields): FoundRow => ({
      read: ranges[Number(fields[0]) - 1] as RangeRead,
      row: decodeInto({}, all, fields, 1),
    }),
  }
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

/** The rows of one range, in its order. */
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

/** Every row of a table, in no order. */
export async function readTable(pool: Pick<Pool, 'query'>, table: Table): Promise<readonly Row[]> {
  const { all } = layoutOf(table)
  const { rows } = await pool.query<(string | null)[]>({
    text: `select ${all.map(({ name }) => `${sqlName(name)}::text`).join(', ')} from ${table.name}`,
    rowMode: 'array',
  })
  return rows.map((fields) => decodeInto({}, all, fields, 0))
}

/** Writes changes, with one statement per table and kind of change. */
export function writeStatements(
  changes: readonly NetChange[],
  { versions, shardOf }: WriteOptions = {},
): Statement[] {
  const byKind = new Map<string, NetChange[]>()
  for (const change of changes) {
    const shard = shardOf ? shardOf(change.table, (change.now ?? change.before)!) : ''
    const kind = `${change.table.name} ${change.before !== undefined} ${change.now !== undefined} ${shard}`
    const same = byKind.get(kind)
    if (same) same.push(change)
    else byKind.set(kind, [change])
  }
  return [...byKind.values()].map((same) => {
    const [{ before, now }] = same as [NetChange]
    if (!before) return shardOf ? insertDistributedRows(same) : insertRows(same)
    const options = { versions, isDistributed: shardOf !== undefined }
    return now ? updateRows(same, options) : deleteRows(same, options)
  })
}

interface WriteOptions {
  readonly versions?: Versions
  /** For a distributed database. */
  readonly shardOf?: ShardOf | undefined
}

export type ShardOf = (table: Table, row: Row) => number | undefined

interface ChangeOptions {
  readonly versions: Versions | undefined
  readonly isDistributed: boolean
}

/** The transactions that wrote the rows which change. A change fails if its row has been written since. */
type Versions = ReadonlyMap<NetChange, string | null>

/** Whether a change changes anything: an operation may put an equal row. */
export function isReal({ table, before, now }: NetChange): boolean {
  return !before || !now || layoutOf(table).all.some(({ name }) => before[name] !== now[name])
}

function insertRows(changes: readonly NetChange[]): Statement {
  const { table } = changes[0] as NetChange
  const { name } = table
  const rows = changes.map(({ now }) => now as Row)
  const isOne = rows.length === 1
  const filled = filledIn(table, rows)
  const sent = columnsOf(table, filled)
  return {
    ...prepared(
      'insert',
      table,
      `${shapeOfList(isOne)}${filled.join()}`,
      () =>
        `insert into ${name} (${names(filled)}) select ${names(filled)} from ${listOf(sent, 'added', { isOne })}`,
    ),
    values: parametersOfList(sent, rows, isOne),
  }
}

/**
 * Lists the rows as values: Citus would copy selected rows to the other machine, and report every failure of that with the same
 * code. Not prepared, because each number of rows is another statement.
 */
function insertDistributedRows(changes: readonly NetChange[]): Statement {
  const { table } = changes[0] as NetChange
  const rows = changes.map(({ now }) => now as Row)
  const filled = filledIn(table, rows)
  const columns = columnsOf(table, filled)
  let parameters = 0
  const lists = rows.map(
    () => `(${columns.map(([, { kind }]) => `$${++parameters}::${columnTypes[kind].name}`).join(', ')})`,
  )
  return {
    text: `insert into ${table.name} (${names(filled)}) values ${lists.join(', ')}`,
    values: rows.flatMap((row) => columns.map(([name, column]) => encodeValue(column, row[name]))),
  }
}

/** Omits columns that are null in every row. */
function filledIn({ columns }: Table, rows: readonly Row[]): readonly string[] {
  return Object.keys(columns).filter((name) => rows.some((row) => row[name] !== null))
}

/** Sends and writes only columns that change in one of the rows. */
function updateRows(changes: readonly NetChange[], { versions, isDistributed }: ChangeOptions): Statement {
  const { table } = changes[0] as NetChange
  const { name, key } = table
  const changed = layoutOf(table).others.flatMap(({ name }) =>
    changes.some(({ before, now }) => before?.[name] !== now?.[name]) ? [name] : [],
  )
  const sent = columnsOf(table, [...key, ...changed])
  const isOne = changes.length === 1 && !isDistributed
  const verb = versions ? 'update_unchanged' : `update${suffixOf(isDistributed)}`
  return {
    ...prepared(verb, table, `${shapeOfList(isOne)}${changed.join()}`, () => {
      const sets = changed.map((column) => `${sqlName(column)} = changed.${sqlName(column)}`)
      const hasVersions = versions !== undefined
      const from = located(table, sent, 'changed', { hasVersions, isDistributed, isOne })
      return counted(`update ${name} own set ${sets.join(', ')} from ${from}`, isOne)
    }),
    values: [
      ...parametersOfList(
        sent,
        changes.map(({ now }) => now as Row),
        isOne,
      ),
      ...(versions ? [versionsOf(changes, versions, isOne)] : []),
    ],
  }
}

function deleteRows(changes: readonly NetChange[], { versions, isDistributed }: ChangeOptions): Statement {
  const { table } = changes[0] as NetChange
  const sent = columnsOf(table, table.key)
  return {
    ...prepared(versions ? 'delete_unchanged' : `delete${suffixOf(isDistributed)}`, table, '', () =>
      counted(
        `delete from ${table.name} own using ${located(table, sent, 'removed', { hasVersions: versions !== undefined, isDistributed })}`,
      ),
    ),
    values: [
      ...arrays(
        sent,
        changes.map(({ before }) => before as Row),
      ),
      ...(versions ? [versionsOf(changes, versions)] : []),
    ],
  }
}

function versionsOf(changes: readonly NetChange[], versions: Versions, isOne = false): string | null {
  return xids(
    changes.map((change) => versions.get(change) ?? null),
    isOne,
  )
}

function xids(versions: readonly (string | null)[], isOne = false): string | null {
  if (isOne) return versions[0] ?? null
  return `{${versions.map((version) => version ?? 'null').join()}}`
}

/** The expected version of a row; null if there must be none. */
export interface RowVersion {
  readonly key: Row
  readonly version: string | null
}

/**
 * Fails with `rowChanged`, which has no other cause, unless every row has its expected version. Its result is the id of the
 * transaction, if it has written anything and is not distributed.
 */
export function checkVersions(
  rows: ReadonlyMap<Table, readonly RowVersion[]>,
  isDistributed = false,
): Statement {
  const parts = [...rows].map(([table, expected]) => ({
    table,
    expected,
    isOne: expected.length === 1 && !isDistributed,
  }))
  const values = parts.flatMap(({ table, expected, isOne }) => [
    ...parametersOfList(
      layoutOf(table).keyColumns,
      expected.map(({ key }) => key),
      isOne,
    ),
    xids(
      expected.map(({ version }) => version),
      isOne,
    ),
  ])
  const shape = parts.map(({ table, isOne }) => `${shapeOfList(isOne)}${table.name}`).join()
  return {
    ...prepared(`check${suffixOf(isDistributed)}`, { name: '' }, shape, () => {
      let parameters = 1
      const counts = parts.map(({ table, isOne }) => {
        const { keyColumns } = layoutOf(table)
        const list = listOf(keyColumns, 'wanted', { before: parameters, hasVersions: true, isOne })
        const machine = machineOf(table, isDistributed, [parameters + 1])
        parameters += table.key.length + 1
        return `(select count(*) from ${list} where (
          select own.xmin from ${table.name} own where ${machine}${equal(table.key, 'own', 'wanted')}) is not distinct from wanted.row_version)`
      })
      const id = isDistributed ? 'null' : 'pg_current_xact_id_if_assigned()::xid'
      return `select ${id}, ln((${['0', ...counts].join(' + ')} = $1::int)::int)`
    }),
    values: [parts.reduce((sum, { expected }) => sum + expected.length, 0), ...values],
    decodeRow: ([id]) => id ?? undefined,
  }
}

/** Locks rows, and fails unless every one has its expected version. */
export function lockUnchangedRows(table: Table, expected: readonly RowVersion[]): Statement {
  const { keyColumns } = layoutOf(table)
  return {
    ...prepared(
      'lock_unchanged',
      table,
      '',
      () => `
      with locked as materialized (
        select from ${listOf(keyColumns, 'wanted', { hasVersions: true })} cross join lateral (
          select from ${table.name} own where ${equal(table.key, 'own', 'wanted')} and own.xmin = wanted.row_version
          for no key update) found)
      select 1 / (count(*) = cardinality($1))::int from locked`,
    ),
    values: [
      ...arrays(
        keyColumns,
        expected.map(({ key }) => key),
      ),
      xids(expected.map(({ version }) => version)),
    ],
    decodeRow: () => undefined,
  }
}

/** Makes a change fail unless it finds every row: if a locked row is gone, that is a bug, and nothing must be committed. */
function counted(change: string, isOne = false): string {
  const count = isOne ? '1' : 'cardinality($1)'
  return `with done as (${change} returning 1) select 1 / (count(*) = ${count})::int from done`
}

/**
 * The parameters of a change, each with the location of its row. With a plain join by key, the planner could scan the whole
 * table and look up the parameters.
 */
function located(
  table: Table,
  sent: readonly NamedColumn[],
  alias: string,
  {
    hasVersions,
    isDistributed,
    isOne = false,
  }: { readonly hasVersions: boolean; readonly isDistributed: boolean; readonly isOne?: boolean },
): string {
  const { name, key } = table
  const unchanged = hasVersions ? ` and own.xmin = ${alias}.row_version` : ''
  // A distributed statement is planned on every run, for the current tables; a single row is not joined.
  if (isDistributed || isOne) {
    const list = listOf(sent, alias, { hasVersions, isOne })
    return `${list} where ${machineOf(table, isDistributed, [1])}${equal(key, 'own', alias)}${unchanged}`
  }
  return `${listOf(sent, alias, { hasVersions })} cross join lateral (
    select one.ctid from ${name} one where ${equal(key, 'one', alias)} offset 0) found
    where own.ctid = found.ctid${unchanged}`
}

type NamedColumn = readonly [name: string, column: Column]

function columnsOf({ columns }: Table, chosen: readonly string[]): NamedColumn[] {
  return chosen.map((name) => [name, columns[name] as Column])
}

/**
 * The parameters of a statement as a table: one array per column, or the values of a single row, which take the server less
 * time. `place` counts the rows from 1. In the select list the arrays are expanded in step; in the from list each would be
 * copied first.
 */
function listOf(
  columns: readonly NamedColumn[],
  alias: string,
  { before = 0, hasVersions = false, isOne = false }: ListOptions = {},
): string {
  const parameter = (index: number, type: string) =>
    isOne ? `$${before + index}::${type}` : `unnest($${before + index}::${type}[])`
  const parts = columns.map(
    ([name, { kind }], index) => `${parameter(index + 1, columnTypes[kind].name)} as ${sqlName(name)}`,
  )
  const place = isOne ? '1' : `generate_subscripts($${before + 1}, 1)`
  const last = hasVersions ? `${parameter(parts.length + 1, 'xid')} as row_version` : `${place} as place`
  return `(select ${[...parts, last].join(', ')}) ${alias}`
}

interface ListOptions {
  /** The number of parameters before it. */
  readonly before?: number
  /** Whether the versions of the rows are the last parameter. */
  readonly hasVersions?: boolean
  readonly isOne?: boolean
}

function shapeOfList(isOne: boolean): string {
  return isOne ? 'one ' : ''
}

function parametersOfList(
  columns: readonly NamedColumn[],
  rows: readonly Row[],
  isOne: boolean,
): (Buffer | string | null)[] {
  return isOne ? columns.map(([name, column]) => encodeValue(column, rows[0]?.[name])) : arrays(columns, rows)
}

function arrays(columns: readonly NamedColumn[], rows: readonly Row[]): Buffer[] {
  return columns.map(([name, column]) => encodeArray(column, rows, name))
}

type Prepared = Required<Pick<Statement, 'name' | 'text'>>

const preparedStatements = new Map<string, Prepared>()

/**
 * A prepared statement, whose text is built once per shape. Its name contains a hash of the text, because a pooler may share it
 * with a process of another release.
 */
function prepared(
  verb: string,
  { name }: Pick<Table, 'name'>,
  shape: string,
  makeText: () => string,
): Prepared {
  const id = `${verb} ${name} ${shape}`
  const found = preparedStatements.get(id)
  if (found) return found
  const text = makeText()
  const digest = createHash('sha256').update(text).digest('hex').slice(0, 12)
  const made = { name: `purser_${verb}_${name}_${digest}`, text }
  preparedStatements.set(id, made)
  return made
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

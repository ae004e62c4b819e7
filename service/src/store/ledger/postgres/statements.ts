import { createHash } from 'node:crypto'

import type { Pool } from 'pg'

import type { Statement } from './round-trip.ts'
import type { NetChange } from '../driver.ts'
import type { RangeRead, Read, RowRead } from '../operation.ts'
import { indexOf, sqlName, type Column, type Table } from '../table.ts'
import { columnTypes, decoderOf, encodeArray, encodeText } from './column-types.ts'
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
        const list = unnest(lists[part] ?? {}, 'wanted', parameters)
        firsts.push(parameters + 1)
        const machine = machineOf(table, isDistributed, [parameters + 1])
        parameters += Object.keys(lists[part] ?? {}).length
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
    values: parts.flatMap(([, same], part) => arrays(lists[part] ?? {}, same.map(parametersOf))),
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
  return {
    ...prepared(
      'find',
      table,
      '',
      () => `
      select place, version${others.map((column) => `, found.${sqlName(column.name)}`).join('')}
      from ${unnest(keyColumns, 'wanted')}
        cross join lateral (select own.xmin as version, own.* from ${name} own where ${equal(key, 'own', 'wanted')} offset 0) found`,
    ),
    values: arrays(keyColumns, reads.map(parametersOf)),
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
        const list = unnest(keyColumns, 'wanted', parameters)
        const machine = machineOf(table, true, [parameters + 1])
        parameters += table.key.length
        const columns = Array.from({ length: width }, (_, index) =>
          others[index] === undefined ? 'null' : `found.${sqlName(others[index].name)}::text`,
        )
        return `
          select ${[`${part} as part`, 'place', 'version::text', ...columns].join(', ')} from ${list}
          cross join lateral (
            select own.xmin as version, own.* from ${table.name} own
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
  readonly keyColumns: Readonly<Record<string, Column>>
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
      from ${unnest(wanted, 'wanted')} cross join lateral (${rangeOf(range, machineOf(table, isDistributed, [1]))}) found`,
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

function columnsOfRange({ table, where, orderBy, after, upTo }: RangeRead): Readonly<Record<string, Column>> {
  const ordered = table.columns[orderBy] as Column
  return {
    ...columnsOf(table, Object.keys(where).sort()),
    ...(after === undefined ? {} : { after_bound: ordered }),
    ...(upTo === undefined ? {} : { up_to_bound: ordered }),
    row_limit: { kind: 'integer', isNullable: false },
  }
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
  const filled = filledIn(table, rows)
  return {
    ...prepared(
      'insert',
      table,
      filled.join(),
      () =>
        `insert into ${name} (${names(filled)}) select ${names(filled)} from ${unnest(columnsOf(table, filled), 'added')}`,
    ),
    values: arrays(columnsOf(table, filled), rows),
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
  const columns = filled.map((name) => ({ name, column: table.columns[name] as Column }))
  let parameters = 0
  const lists = rows.map(
    () =>
      `(${columns.map(({ column: { kind } }) => `$${++parameters}::${columnTypes[kind].name}`).join(', ')})`,
  )
  return {
    text: `insert into ${table.name} (${names(filled)}) values ${lists.join(', ')}`,
    values: rows.flatMap((row) => columns.map(({ name, column }) => encodeText(column, row[name]))),
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
  return {
    ...prepared(
      versions ? 'update_unchanged' : `update${suffixOf(isDistributed)}`,
      table,
      changed.join(),
      () => {
        const sets = changed.map((column) => `${sqlName(column)} = changed.${sqlName(column)}`)
        const from = located(table, sent, 'changed', { hasVersions: versions !== undefined, isDistributed })
        return counted(`update ${name} own set ${sets.join(', ')} from ${from}`)
      },
    ),
    values: [
      ...arrays(
        sent,
        changes.map(({ now }) => now as Row),
      ),
      ...versionsOf(changes, versions),
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
      ...versionsOf(changes, versions),
    ],
  }
}

function versionsOf(changes: readonly NetChange[], versions: Versions | undefined): string[] {
  return versions ? [xids(changes.map((change) => versions.get(change) ?? null))] : []
}

function xids(versions: readonly (string | null)[]): string {
  return `{${versions.map((version) => version ?? 'null').join()}}`
}

/** The expected version of a row; null if there must be none. */
export interface RowVersion {
  readonly key: Row
  readonly version: string | null
}

/** Fails with `rowChanged`, which has no other cause, unless every row has its expected version. */
export function checkVersions(
  rows: ReadonlyMap<Table, readonly RowVersion[]>,
  isDistributed = false,
): Statement {
  const parts = [...rows]
  const values = parts.flatMap(([table, expected]) => [
    ...arrays(
      layoutOf(table).keyColumns,
      expected.map(({ key }) => key),
    ),
    xids(expected.map(({ version }) => version)),
  ])
  const tables = parts.map(([{ name }]) => name).join()
  return {
    ...prepared(`check${suffixOf(isDistributed)}`, { name: '' }, tables, () => {
      let parameters = 1
      const counts = parts.map(([table]) => {
        const { keyColumns } = layoutOf(table)
        const list = unnest(keyColumns, 'wanted', parameters, true)
        const machine = machineOf(table, isDistributed, [parameters + 1])
        parameters += table.key.length + 1
        return `(select count(*) from ${list} where (
          select own.xmin from ${table.name} own where ${machine}${equal(table.key, 'own', 'wanted')}) is not distinct from wanted.version)`
      })
      return `select ln((${counts.join(' + ')} = $1::int)::int)`
    }),
    values: [parts.reduce((sum, [, expected]) => sum + expected.length, 0), ...values],
    decodeRow: () => undefined,
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
        select from ${unnest(keyColumns, 'wanted', 0, true)} cross join lateral (
          select from ${table.name} own where ${equal(table.key, 'own', 'wanted')} and own.xmin = wanted.version
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
function counted(change: string): string {
  return `with done as (${change} returning 1) select 1 / (count(*) = cardinality($1))::int from done`
}

/**
 * The parameters of a change, each with the location of its row. With a plain join by key, the planner could scan the whole
 * table and look up the parameters.
 */
function located(
  table: Table,
  sent: Readonly<Record<string, Column>>,
  alias: string,
  { hasVersions, isDistributed }: { readonly hasVersions: boolean; readonly isDistributed: boolean },
): string {
  const { name, key } = table
  // Planned on every run, for the current tables.
  if (isDistributed) {
    return `${unnest(sent, alias)} where ${machineOf(table, isDistributed, [1])}${equal(key, 'own', alias)}`
  }
  return `${unnest(sent, alias, 0, hasVersions)} cross join lateral (
    select one.ctid from ${name} one where ${equal(key, 'one', alias)} offset 0) found
    where own.ctid = found.ctid${hasVersions ? ` and own.xmin = ${alias}.version` : ''}`
}

function columnsOf({ columns }: Table, chosen: readonly string[]): Readonly<Record<string, Column>> {
  return Object.fromEntries(chosen.map((name) => [name, columns[name] as Column]))
}

/**
 * The parameters of a statement as a table, one array per column; `place` counts the rows from 1. In the select list the arrays
 * are expanded in step; in the from list each would be copied first.
 */
function unnest(
  columns: Readonly<Record<string, Column>>,
  alias: string,
  before = 0,
  hasVersions = false,
): string {
  const parts = Object.entries(columns).map(
    ([name, { kind }], index) =>
      `unnest($${before + index + 1}::${columnTypes[kind].name}[]) as ${sqlName(name)}`,
  )
  const last = hasVersions
    ? `unnest($${before + parts.length + 1}::xid[]) as version`
    : `generate_subscripts($${before + 1}, 1) as place`
  return `(select ${[...parts, last].join(', ')}) ${alias}`
}

function arrays(columns: Readonly<Record<string, Column>>, rows: readonly Row[]): Buffer[] {
  return Object.entries(columns).map(([name, column]) => encodeArray(column, rows, name))
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

import { createHash } from 'node:crypto'

import type { Pool } from 'pg'

import type { Statement } from './round-trip.ts'
import type { NetChange } from '../driver.ts'
import type { RangeRead, Read, RowRead } from '../operation.ts'
import { indexOf, sqlName, type Column, type Table } from '../table.ts'
import { columnTypes, decoderOf, encodeArray, encodeText } from './column-types.ts'
import { guardOf } from './schema.ts'

type Row = Readonly<Record<string, unknown>>

/** A row that was found or locked, with the read that asked for it. */
export interface FoundRow {
  readonly read: Read
  /** Of a row that was locked, the key at least. */
  readonly row: Row
  /** The transaction that has written it, where it was looked up by its key. */
  readonly version?: string | undefined
}

/**
 * Locks the rows that are asked for by their keys or in ranges, all of a table in the order of its keys: so transactions wait
 * for each other in line and never in a ring. Answers those that it has locked. Each key is looked up by itself: no plan goes
 * through the table.
 */
export function lockRows(reads: readonly Read[], { waits, isSpread = false }: LockOptions): Statement {
  const { table } = reads[0] as Read
  const { key, name } = table
  const parts = [...Map.groupBy(reads, (read) => (read.kind === 'row' ? 'rows' : shapeOf(read)))]
  const keyColumns = columnsOf(table, key)
  const lists = parts.map(([, [first]]) => (first?.kind === 'range' ? columnsOfRange(first) : keyColumns))
  const shape = parts.map(([shape]) => shape).join(' ')
  return {
    ...prepared(`lock${waits ? '' : '_free'}${suffixOf(isSpread)}`, table, shape, () => {
      let parameters = 0
      const firsts: number[] = []
      const selects = parts.map(([, [first]], part) => {
        const list = unnest(lists[part] ?? {}, 'wanted', parameters)
        firsts.push(parameters + 1)
        const machine = machineOf(table, isSpread, [parameters + 1])
        parameters += Object.keys(lists[part] ?? {}).length
        if (first?.kind !== 'range') return `select ${part} as part, place, ${names(key)} from ${list}`
        const found = key.map((column) => `found.${sqlName(column)}`).join(', ')
        return `select ${part} as part, place, ${found} from ${list} cross join lateral (${rangeOf(first, machine)}) found`
      })
      const machine = machineOf(table, isSpread, firsts)
      return `
        select part, place, ${names(key)} from (${selects.join(' union all ')} order by ${names(key)}) wanted
          cross join lateral (
            select from ${name} own where ${machine}${equal(key, 'own', 'wanted')} for no key update${waits ? '' : ' skip locked'}) locked`
    }),
    values: parts.flatMap(([, same], part) => arrays(lists[part] ?? {}, same.map(parametersOf))),
    decodeRow: (fields): FoundRow => {
      const read = parts[Number(fields[0])]?.[1][Number(fields[1]) - 1]
      if (read?.kind === 'row') return { read, row: read.key }
      const row: Record<string, unknown> = {}
      for (const [index, column] of key.entries()) {
        row[column] = decoderOf(table.columns[column] as Column)(fields[index + 2] ?? null)
      }
      return { read: read as Read, row }
    },
  }
}

interface LockOptions {
  /** Whether it waits for rows that another transaction has locked; else it leaves them out. */
  readonly waits: boolean
  readonly isSpread?: boolean
}

/**
 * Names the accounts, which are the first parameter of every list of keys, where the table itself is looked at: so an engine
 * that spreads accounts over machines sees that it has to ask one.
 */
function machineOf({ key }: Table, isSpread: boolean, parameters: readonly number[]): string {
  if (!isSpread || key[0] !== 'accountId') return ''
  return `own.account_id = any (${parameters.map((parameter) => `$${parameter}::uuid[]`).join(' || ')}) and `
}

function suffixOf(isSpread: boolean): string {
  return isSpread ? '_spread' : ''
}

/** The rows with these keys. */
export function findRows(reads: readonly RowRead[]): Statement {
  const { table } = reads[0] as RowRead
  const { key, name } = table
  const { others, keyColumns, decoders } = layoutOf(table)
  return {
    ...prepared(
      'find',
      table,
      '',
      () => `
      select place, version${others.map((column) => `, found.${sqlName(column)}`).join('')}
      from ${unnest(keyColumns, 'wanted')}
        cross join lateral (select own.xmin as version, own.* from ${name} own where ${equal(key, 'own', 'wanted')} offset 0) found`,
    ),
    values: arrays(keyColumns, reads.map(parametersOf)),
    decodeRow: (fields): FoundRow => {
      const read = reads[Number(fields[0]) - 1] as RowRead
      const row: Record<string, unknown> = {}
      // It has the key that was looked up: only the rest is sent and read.
      for (const column of key) row[column] = read.key[column]
      for (let index = 0; index < others.length; index++) {
        row[others[index] as string] = decoders[index]?.(fields[index + 2] ?? null)
      }
      return { read, row, version: fields[1] as string }
    },
  }
}

/**
 * The rows with these keys of several tables, which are all on one machine: an engine that spreads rows takes longer to plan
 * a statement than to run it. Their columns are texts, filled up with nulls.
 */
export function findSpreadRows(groups: readonly (readonly RowRead[])[]): Statement {
  const layouts = groups.map((reads) => layoutOf((reads[0] as RowRead).table))
  const width = Math.max(...layouts.map(({ others }) => others.length))
  const tables = groups.map((reads) => (reads[0] as RowRead).table)
  return {
    ...prepared('find_spread', { name: '' }, tables.map(({ name }) => name).join(), () => {
      let parameters = 0
      const selects = tables.map((table, part) => {
        const { keyColumns, others } = layouts[part] as Layout
        const list = unnest(keyColumns, 'wanted', parameters)
        const machine = machineOf(table, true, [parameters + 1])
        parameters += table.key.length
        const columns = Array.from({ length: width }, (_, index) =>
          others[index] === undefined ? 'null' : `found.${sqlName(others[index])}::text`,
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
    decodeRow: ([part, place, version, ...values]): FoundRow => {
      const read = groups[Number(part)]?.[Number(place) - 1] as RowRead
      const { others, decoders } = layoutOf(read.table)
      const row: Record<string, unknown> = { ...read.key }
      for (const [index, name] of others.entries()) row[name] = decoders[index]?.(values[index] ?? null)
      return { read, row, version: version as string }
    },
  }
}

interface Layout {
  readonly names: readonly string[]
  /** The columns besides the key, with what reads each. */
  readonly others: readonly string[]
  readonly decoders: readonly ((value: string | null) => unknown)[]
  readonly keyColumns: Readonly<Record<string, Column>>
}

const layouts = new Map<Table, Layout>()

function layoutOf(table: Table): Layout {
  const known = layouts.get(table)
  if (known) return known
  const names = Object.keys(table.columns)
  const others = names.filter((name) => !table.key.includes(name))
  const decoders = others.map((name) => decoderOf(table.columns[name] as Column))
  const layout = { names, others, decoders, keyColumns: columnsOf(table, table.key) }
  layouts.set(table, layout)
  return layout
}

/** The name of all ranges that are asked for by the same columns. */
export function shapeOf({ table, where, orderBy, after, upTo }: RangeRead): string {
  const bounds = `${after === undefined ? '' : '_after'}${upTo === undefined ? '' : '_to'}`
  return `${Object.keys(where).sort().join()} ${table.name} ${orderBy}${bounds}`
}

/** The rows of ranges of one shape, in the order of each range. */
export function findRanges(ranges: readonly RangeRead[], isSpread = false): Statement {
  const [range] = ranges as readonly [RangeRead]
  const { table } = range
  const { names } = layoutOf(table)
  const wanted = columnsOfRange(range)
  return {
    ...prepared(
      `range${suffixOf(isSpread)}`,
      table,
      shapeOf(range),
      () => `
      select place${names.map((column) => `, found.${sqlName(column)}`).join('')}
      from ${unnest(wanted, 'wanted')} cross join lateral (${rangeOf(range, machineOf(table, isSpread, [1]))}) found`,
    ),
    values: arrays(wanted, ranges.map(parametersOf)),
    decodeRow: (fields): FoundRow => {
      const row: Record<string, unknown> = {}
      for (const [index, column] of names.entries()) {
        row[column] = decoderOf(table.columns[column] as Column)(fields[index + 1] ?? null)
      }
      return { read: ranges[Number(fields[0]) - 1] as RangeRead, row }
    },
  }
}

/** The parameters of a read; those of ranges have other names than the columns. */
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
  return `
    select own.* from ${table.name} own where ${machine}${conditions.join(' and ')}
    order by ${index.map((column) => `own.${sqlName(column)}`).join(', ')} limit wanted.row_limit`
}

/** Every row of a table, in no order. */
export async function readTable(
  pool: Pick<Pool, 'query'>,
  { name, columns }: Table,
): Promise<readonly Row[]> {
  const entries = Object.entries(columns)
  // As text, as the driver reads them.
  const fields = Object.keys(columns).map((column) => `${sqlName(column)}::text`)
  const { rows } = await pool.query<(string | null)[]>({
    text: `select ${fields.join(', ')} from ${name}`,
    rowMode: 'array',
  })
  return rows.map((row) =>
    Object.fromEntries(
      entries.map(([column, declared], index) => [column, decoderOf(declared)(row[index] ?? null)]),
    ),
  )
}

/** What a transaction writes: one statement for each table and kind of change. */
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
    if (!before) return shardOf ? insertSpreadRows(same) : insertRows(same)
    const options = { versions, isSpread: shardOf !== undefined }
    return now ? updateRows(same, options) : deleteRows(same, options)
  })
}

interface WriteOptions {
  readonly versions?: Versions
  /** Which rows of a table are on one machine, where there are several. */
  readonly shardOf?: ShardOf | undefined
}

export type ShardOf = (table: Table, row: Row) => number | undefined

interface ChangeOptions {
  readonly versions: Versions | undefined
  readonly isSpread: boolean
}

/** The transactions that have written rows which change. A change then fails when another has written its row since. */
type Versions = ReadonlyMap<NetChange, string | null>

/** Whether a row is another one afterwards: an operation may put one that is as it was. */
export function isReal({ table, before, now }: NetChange): boolean {
  return !before || !now || layoutOf(table).names.some((column) => before[column] !== now[column])
}

/** Columns that are null in every row are left out. */
function insertRows(changes: readonly NetChange[]): Statement {
  const { table } = changes[0] as NetChange
  const { name } = table
  const rows = changes.map(({ now }) => now as Row)
  const filled = layoutOf(table).names.filter((column) => rows.some((row) => row[column] !== null))
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
 * Row by row: what is selected, Citus copies to the other machine, and answers every failure of that with one code. It has no
 * name, since there would be one for each number of rows.
 */
function insertSpreadRows(changes: readonly NetChange[]): Statement {
  const { table } = changes[0] as NetChange
  const rows = changes.map(({ now }) => now as Row)
  const filled = layoutOf(table).names.filter((column) => rows.some((row) => row[column] !== null))
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

/** Only columns that change in one of the rows are sent and written. */
function updateRows(changes: readonly NetChange[], { versions, isSpread }: ChangeOptions): Statement {
  const { table } = changes[0] as NetChange
  const { name, key } = table
  const changed = layoutOf(table).others.filter((column) =>
    changes.some(({ before, now }) => before?.[column] !== now?.[column]),
  )
  const sent = columnsOf(table, [...key, ...changed])
  return {
    ...prepared(versions ? 'update_known' : `update${suffixOf(isSpread)}`, table, changed.join(), () => {
      const sets = changed.map((column) => `${sqlName(column)} = changed.${sqlName(column)}`)
      const from = located(table, sent, 'changed', { isKnown: versions !== undefined, isSpread })
      return counted(`update ${name} own set ${sets.join(', ')} from ${from}`)
    }),
    values: [
      ...arrays(
        sent,
        changes.map(({ now }) => now as Row),
      ),
      ...versionsOf(changes, versions),
    ],
  }
}

function deleteRows(changes: readonly NetChange[], { versions, isSpread }: ChangeOptions): Statement {
  const { table } = changes[0] as NetChange
  const sent = columnsOf(table, table.key)
  return {
    ...prepared(versions ? 'delete_known' : `delete${suffixOf(isSpread)}`, table, '', () =>
      counted(
        `delete from ${table.name} own using ${located(table, sent, 'removed', { isKnown: versions !== undefined, isSpread })}`,
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

/** Rows by their keys, as they are known: null for one that is not there. */
export interface KnownRow {
  readonly key: Row
  readonly version: string | null
}

/**
 * Fails unless every row was written last by the transaction that is named, or is not there where none is: with `rowChanged`,
 * which nothing else answers.
 */
export function checkRows(rows: ReadonlyMap<Table, readonly KnownRow[]>, isSpread = false): Statement {
  const parts = [...rows]
  const values = parts.flatMap(([table, known]) => [
    ...arrays(
      layoutOf(table).keyColumns,
      known.map(({ key }) => key),
    ),
    xids(known.map(({ version }) => version)),
  ])
  const tables = parts.map(([{ name }]) => name).join()
  return {
    ...prepared(`check${suffixOf(isSpread)}`, { name: '' }, tables, () => {
      let parameters = 1
      const counts = parts.map(([table]) => {
        const { keyColumns } = layoutOf(table)
        const list = unnest(keyColumns, 'wanted', parameters, true)
        const machine = machineOf(table, isSpread, [parameters + 1])
        parameters += table.key.length + 1
        return `(select count(*) from ${list} where (
          select own.xmin from ${table.name} own where ${machine}${equal(table.key, 'own', 'wanted')}) is not distinct from wanted.version)`
      })
      return `select ln((${counts.join(' + ')} = $1::int)::int)`
    }),
    values: [parts.reduce((sum, [, known]) => sum + known.length, 0), ...values],
    decodeRow: () => undefined,
  }
}

/** Locks rows, and fails unless every one was written last by the transaction that is named. */
export function lockKnownRows(table: Table, known: readonly KnownRow[]): Statement {
  const { keyColumns } = layoutOf(table)
  return {
    ...prepared(
      'lock_known',
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
        known.map(({ key }) => key),
      ),
      xids(known.map(({ version }) => version)),
    ],
    decodeRow: () => undefined,
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
function located(
  table: Table,
  sent: Readonly<Record<string, Column>>,
  alias: string,
  { isKnown, isSpread }: { readonly isKnown: boolean; readonly isSpread: boolean },
): string {
  const { name, key } = table
  // There a statement is planned whenever it is run, for the tables as they are.
  if (isSpread) {
    return `${unnest(sent, alias)} where ${machineOf(table, isSpread, [1])}${equal(key, 'own', alias)}`
  }
  return `${unnest(sent, alias, 0, isKnown)} cross join lateral (
    select one.ctid from ${name} one where ${equal(key, 'one', alias)} offset 0) found
    where own.ctid = found.ctid${isKnown ? ` and own.xmin = ${alias}.version` : ''}`
}

function columnsOf({ columns }: Table, chosen: readonly string[]): Readonly<Record<string, Column>> {
  return Object.fromEntries(chosen.map((name) => [name, columns[name] as Column]))
}

/**
 * The parameters of a statement as a table, one array for each column; `place` counts its rows from 1. As columns of a query
 * the arrays are gone through in step, where the function as a table would first copy each into one of its own.
 */
function unnest(
  columns: Readonly<Record<string, Column>>,
  alias: string,
  before = 0,
  isKnown = false,
): string {
  const parts = Object.entries(columns).map(
    ([name, { kind }], index) =>
      `unnest($${before + index + 1}::${columnTypes[kind].name}[]) as ${sqlName(name)}`,
  )
  const last = isKnown
    ? `unnest($${before + parts.length + 1}::xid[]) as version`
    : `generate_subscripts($${before + 1}, 1) as place`
  return `(select ${[...parts, last].join(', ')}) ${alias}`
}

function arrays(columns: Readonly<Record<string, Column>>, rows: readonly Row[]): Buffer[] {
  return Object.entries(columns).map(([name, column]) => encodeArray(column, rows, name))
}

type Prepared = Required<Pick<Statement, 'name' | 'text'>>

const known = new Map<string, Prepared>()

/**
 * A statement of a shape, whose text is made once. Its name depends on its text: a pool may share what a process has prepared
 * with one of another version.
 */
function prepared(
  verb: string,
  { name }: Pick<Table, 'name'>,
  shape: string,
  makeText: () => string,
): Prepared {
  const id = `${verb} ${name} ${shape}`
  const found = known.get(id)
  if (found) return found
  const text = makeText()
  const digest = createHash('sha256').update(text).digest('hex').slice(0, 12)
  const made = { name: `purser_${verb}_${name}_${digest}`, text }
  known.set(id, made)
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

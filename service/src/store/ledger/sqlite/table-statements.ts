import type { SqliteDatabase } from './open.ts'
import type { RangeRead } from '../operation.ts'
import { canHold, indexOf, sqlName, sumsOnConflict, type Table } from '../table.ts'
import { compileTakeChanged, type TakeChanged } from '../compiled-rows.ts'
import { RowCodec, type Row, type SqlValue } from './row-codec.ts'
import { columnList, growingTables, joinedParameter, numberedTables, partsOf, type Part } from './schema.ts'

/** A row with its number, if its table has numbers. */
export interface FoundRow {
  /** Undefined if it is no longer cached. */
  row: Row | undefined
  readonly no: number | undefined
}

export type NewRow = FoundRow & { row: Row }

interface RunResult {
  readonly changes: number
  readonly lastInsertRowid: number | bigint
}

type Run = (...values: SqlValue[]) => RunResult

interface Query {
  readonly get: (...values: SqlValue[]) => SqlValue[] | undefined
  readonly all: (...values: SqlValue[]) => SqlValue[][]
}

/** How a part of the table is written. */
interface PartWriter {
  readonly part: Part
  readonly takeChanged: TakeChanged<SqlValue>
  /** By the columns that they set, and the number of rows. */
  readonly inserts: Map<number, Run>
  /**
   * By a bit mask of the columns that they set: 1 for the first, 2 for the second, 4 for the third, and so
   * on.
   */
  readonly updates: Map<number, Run>
  readonly updatesByKey: Map<number, Run>
  delete?: Run
}

/** The statements of one table. Each is prepared on first use. */
export class TableStatements {
  readonly #db: SqliteDatabase
  readonly #table: Table
  readonly #codec: RowCodec
  readonly #queries = new Map<string, Query>()
  /** Columns that never change. */
  readonly #fixed: ReadonlySet<string>
  readonly #whereKey: string
  readonly #selected: string
  readonly #isNumbered: boolean
  readonly #parts: readonly [PartWriter, PartWriter?]
  readonly #encodeKey: (row: Row) => SqlValue[]
  /** How a new row is added up with the one that has its key. */
  readonly #sumsText: string

  constructor(db: SqliteDatabase, table: Table) {
    this.#db = db
    this.#table = table
    this.#codec = new RowCodec(table)
    this.#fixed = new Set([...table.key, ...table.indexes.flat()])
    this.#whereKey = `where ${equal(table.key)}`
    const [first, second] = partsOf(table)
    this.#parts = second ? [this.#writerOf(first), this.#writerOf(second)] : [this.#writerOf(first)]
    this.#encodeKey = this.#codec.encoderOf(table.key)
    this.#isNumbered = numberedTables.includes(table)
    this.#selected = selectAll(table)
    this.#sumsText = table.sums ? ` on conflict do ${sumsOnConflict(table.name, table.sums)}` : ''
  }

  #writerOf(part: Part): PartWriter {
    const columns = part.columns.map((name) => ({ name, encode: this.#codec.codecOf(name).encode }))
    return {
      part,
      takeChanged: compileTakeChanged(columns),
      inserts: new Map(),
      updates: new Map(),
      updatesByKey: new Map(),
    }
  }

  /** The row with a key; undefined if there is none. */
  find(key: Row): FoundRow | undefined {
    const { columns, key: names } = this.#table
    if (!names.every((name) => canHold(columns[name]!, key[name]))) return undefined
    const statement = this.#prepareQuery('find', () => `${this.#selected} ${this.#whereKey}`)
    const values = statement.get(...this.#encodeKey(key))
    if (!values) return undefined
    const no = this.#isNumbered ? Number(values.pop()) : undefined
    return { row: this.#codec.decode(values), no }
  }

  findRange(range: RangeRead): Row[] {
    const { where, orderBy, after, upTo, limit } = range
    const { columns } = this.#table
    const names = Object.keys(where)
    const bounds = [after, upTo].filter((bound) => bound !== undefined)
    const values = [
      ...names.map((name) => [name, where[name]] as const),
      ...bounds.map((bound) => [orderBy, bound]),
    ]
    if (!values.every(([name, value]) => canHold(columns[name as string]!, value))) return []
    const shape = `range ${names.join()} ${orderBy}${after === undefined ? '' : ' after'}${upTo === undefined ? '' : ' up to'}`
    const statement = this.#prepareQuery(shape, () => this.#rangeText(range))
    const encoded = values.map(([name, value]) => this.#codec.encode(name as string, value))
    return statement.all(...encoded, limit).map((found) => this.#codec.decode(found))
  }

  /** Adds rows, several per statement. */
  insert(rows: readonly Row[]): readonly NewRow[] {
    const [writer, other] = this.#parts
    const added: NewRow[] = []
    for (let index = 0; index < rows.length;) {
      const values: SqlValue[] = []
      const shape = writer.takeChanged(noRow, rows[index]!, values)
      const most = other ? 1 : Math.min(insertedTogether, rows.length - index)
      let count = 1
      for (; count < most; count++) {
        const { length } = values
        // Rows that omit the same columns share a statement.
        if (writer.takeChanged(noRow, rows[index + count]!, values) === shape) continue
        values.length = length
        break
      }
      const last = this.#insertPart(writer, { row: rows[index]!, shape, count, values })
      if (other) this.#insertOther(other, rows[index]!, last)
      for (; count > 0; count--) {
        const no = this.#isNumbered ? last - (count - 1) : undefined
        added.push({ row: rows[index++]!, no })
      }
    }
    return added
  }

  #insertOther(writer: PartWriter, row: Row, no: number): void {
    const values: SqlValue[] = [no]
    const shape = writer.takeChanged(noRow, row, values)
    this.#insertPart(writer, { row, shape, count: 1, values, hasNo: true })
  }

  #insertPart(
    { part, inserts }: PartWriter,
    {
      row,
      shape,
      count,
      values,
      hasNo = false,
    }: {
      readonly row: Row
      readonly shape: number
      readonly count: number
      readonly values: readonly SqlValue[]
      readonly hasNo?: boolean
    },
  ): number {
    const name = shape * insertedTogether + count - 1
    let run = inserts.get(name)
    if (!run) {
      run = this.#prepareRun(insertText(part, row, { hasNo, count }) + this.#sumsText)
      inserts.set(name, run)
    }
    return Number(run(...values).lastInsertRowid)
  }

  /** Writes the difference between a row and its new version. */
  update(before: Row, now: Row, no: FoundRow['no']): void {
    for (const writer of this.#parts) {
      if (!writer) continue
      const values: SqlValue[] = []
      const shape = writer.takeChanged(before, now, values)
      if (shape === 0) continue
      const updates = no === undefined ? writer.updatesByKey : writer.updates
      let run = updates.get(shape)
      if (!run) {
        const where = no === undefined ? this.#whereKeyOf(writer.part) : 'where no = ?'
        run = this.#prepareRun(`${this.#updateText(writer.part, before, now)} ${where}`)
        updates.set(shape, run)
      }
      if (no === undefined) values.push(...this.#encodeKey(before))
      else values.push(no)
      this.#expectOne(run(...values))
    }
  }

  delete(row: Row): void {
    const key = this.#encodeKey(row)
    // The part with the key points to the others, so it is deleted last.
    for (const writer of this.#parts.toReversed()) {
      if (!writer) continue
      const { part } = writer
      writer.delete ??= this.#prepareRun(`delete from ${part.name} ${this.#whereKeyOf(part)}`)
      this.#expectOne(writer.delete(...key))
    }
  }

  /** Rows that change were read before, and only this driver writes. */
  #expectOne({ changes }: RunResult): void {
    if (changes !== 1) throw new Error(`${changes} rows of ${this.#table.name} have the key of one`)
  }

  #whereKeyOf(part: Part): string {
    if (part.name === this.#table.name) return this.#whereKey
    return `where no = (select no from ${this.#table.name} ${this.#whereKey})`
  }

  #rangeText({ where, orderBy, after, upTo }: RangeRead): string {
    const names = Object.keys(where)
    indexOf(this.#table, names, orderBy)
    const column = sqlName(orderBy)
    const bounds = `${after === undefined ? '' : ` and ${column} > ?`}${upTo === undefined ? '' : ` and ${column} <= ?`}`
    return `${this.#selected} where ${equal(names)}${bounds} order by ${column} limit ?`
  }

  #updateText(part: Part, before: Row, now: Row): string {
    const changed = part.columns.filter((name) => isChanged(before[name], now[name]))
    const fixed = changed.find((name) => this.#fixed.has(name))
    if (fixed !== undefined) throw new Error(`${this.#table.name}.${fixed} never changes`)
    const blank = growingTables.includes(this.#table) ? ', blank = null' : ''
    const set = changed.map((name) => `${sqlName(name)} = ?`).join(', ')
    return `update ${part.name} set ${set}${blank}`
  }

  #prepareRun(text: string): Run {
    const prepared = this.#db.prepare<SqlValue[]>(text)
    return prepared.run.bind(prepared)
  }

  #prepareQuery(shape: string, text: () => string): Query {
    let query = this.#queries.get(shape)
    if (!query) {
      query = this.#db.prepare<SqlValue[], SqlValue[]>(text()).raw()
      this.#queries.set(shape, query)
    }
    return query
  }
}

const noRow: Row = {}

/** Max rows of one insert: running a statement costs as much as writing a row of ten columns. */
export const insertedTogether = 8

function isChanged(before: unknown, now: unknown): boolean {
  return (before ?? null) !== (now ?? null)
}

function insertText(
  { name, columns }: Part,
  row: Row,
  { hasNo, count }: { readonly hasNo: boolean; readonly count: number },
): string {
  const names = columns.filter((column) => isChanged(null, row[column]))
  const marks = Array.from({ length: names.length + (hasNo ? 1 : 0) }, () => '?')
  const rows = Array.from({ length: count }, () => `(${marks.join(', ')})`)
  return `insert into ${name} (${hasNo ? 'no, ' : ''}${columnList(names)}) values ${rows.join(', ')}`
}

function selectAll(table: Table): string {
  const [part, other] = partsOf(table)
  const from = other ? `${part.name} cross join ${other.name} using (no)` : part.name
  const no = numberedTables.includes(table) ? ', no' : ''
  return `select ${columnList(Object.keys(table.columns))}${no} from ${from}`
}

function equal(names: readonly string[]): string {
  return names.map((name) => `${sqlName(name)} = ${joinedParameter()}`).join(' and ')
}

/** Every row of a table, in no order. */
export function readAll(db: SqliteDatabase, table: Table): Row[] {
  const codec = new RowCodec(table)
  const statement = db.prepare(selectAll(table)).raw()
  return (statement.all() as SqlValue[][]).map((values) => codec.decode(values))
}

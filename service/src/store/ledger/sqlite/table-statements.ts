import type { SqliteDatabase } from '../../sqlite/open.ts'
import type { RangeRead } from '../operation.ts'
import { canHold, indexOf, sqlName, type Table } from '../table.ts'
import { RowCodec, type Row, type SqlValue } from './row-codec.ts'
import { columnList, growingTables, numberedTables, partsOf, type Part } from './schema.ts'

/** A row with its number, where its table has numbers. */
export interface FoundRow {
  readonly row: Row
  readonly no: bigint | undefined
}

interface RunResult {
  readonly changes: number
  readonly lastInsertRowid: number | bigint
}

/** A statement, and what encodes the columns of a row that it binds. */
interface Statement {
  readonly encode: (row: Row) => SqlValue[]
  readonly run: (...values: (SqlValue | undefined)[]) => RunResult
  readonly get: (...values: SqlValue[]) => SqlValue[] | undefined
  readonly all: (...values: SqlValue[]) => SqlValue[][]
}

/** The statements of one table. Each is prepared when it is first needed. */
export class TableStatements {
  readonly #db: SqliteDatabase
  readonly #table: Table
  readonly #codec: RowCodec
  readonly #prepared = new Map<string, Statement>()
  /** Columns that never change. */
  readonly #fixed: ReadonlySet<string>
  readonly #whereKey: string
  readonly #selected: string
  readonly #isNumbered: boolean
  readonly #parts: readonly Part[]
  readonly #encodeKey: (row: Row) => SqlValue[]

  constructor(db: SqliteDatabase, table: Table) {
    this.#db = db
    this.#table = table
    this.#codec = new RowCodec(table)
    this.#fixed = new Set([...table.key, ...table.indexes.flat()])
    this.#whereKey = `where ${equal(table.key)}`
    this.#parts = partsOf(table)
    this.#encodeKey = this.#codec.encoderOf(table.key)
    this.#isNumbered = numberedTables.includes(table)
    this.#selected = selectAll(table)
  }

  /** The row with a key; undefined when there is none. */
  find(key: Row): FoundRow | undefined {
    const { columns, key: names } = this.#table
    if (!names.every((name) => canHold(columns[name]!, key[name]))) return undefined
    const statement = this.#prepare('find', [], () => `${this.#selected} ${this.#whereKey}`, true)
    const values = statement.get(...this.#encodeKey(key))
    if (!values) return undefined
    const no = this.#isNumbered ? (values.pop() as bigint) : undefined
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
    const statement = this.#prepare(shape, [], () => this.#rangeText(range), true)
    const encoded = values.map(([name, value]) => this.#codec.encode(name as string, value))
    return statement.all(...encoded, limit).map((found) => this.#codec.decode(found))
  }

  /** The number of the new row, where the table has numbers. */
  insert(row: Row): bigint | undefined {
    let no: bigint | undefined
    for (const part of this.#parts) {
      const statement = this.#prepare(`insert ${part.name}`, part.columns, () => this.#insertText(part))
      const values = statement.encode(row)
      const { lastInsertRowid } =
        this.#parts.length > 1 ? statement.run(no, ...values) : statement.run(...values)
      no = BigInt(lastInsertRowid)
    }
    return this.#isNumbered ? no : undefined
  }

  /** Writes what differs between a row and what it becomes. */
  update({ row: before, no }: FoundRow, now: Row): void {
    for (const part of this.#parts) {
      const changed = part.columns.filter((name) => before[name] !== now[name])
      if (changed.length === 0) continue
      const where = no === undefined ? this.#whereKeyOf(part) : 'where no = ?'
      const shape = `${changed.join()} ${where}`
      const statement = this.#prepare(shape, changed, () => this.#updateText(part, changed, where))
      const key = no === undefined ? this.#encodeKey(before) : [no]
      this.#expectOne(statement.run(...statement.encode(now), ...key))
    }
  }

  delete(row: Row): void {
    const key = this.#encodeKey(row)
    // The part with the key leads to the others, and goes last.
    for (const part of this.#parts.toReversed()) {
      const text = () => `delete from ${part.name} ${this.#whereKeyOf(part)}`
      this.#expectOne(this.#prepare(`delete ${part.name}`, [], text).run(...key))
    }
  }

  /** Rows that change were read before, and only this driver writes. */
  #expectOne({ changes }: RunResult): void {
    if (changes !== 1) throw new Error(`${changes} rows of ${this.#table.name} have the key of one`)
  }

  #insertText({ name, columns }: Part): string {
    const no = this.#parts.length > 1 ? 'no, ' : ''
    const marks = Array.from({ length: columns.length + (no ? 1 : 0) }, () => '?')
    return `insert into ${name} (${no}${columnList(columns)}) values (${marks.join(', ')})`
  }

  #whereKeyOf(part: Part): string {
    if (part === this.#parts[0]) return this.#whereKey
    return `where no = (select no from ${this.#table.name} ${this.#whereKey})`
  }

  #rangeText({ where, orderBy, after, upTo }: RangeRead): string {
    const names = Object.keys(where)
    indexOf(this.#table, names, orderBy)
    const column = sqlName(orderBy)
    const bounds = `${after === undefined ? '' : ` and ${column} > ?`}${upTo === undefined ? '' : ` and ${column} <= ?`}`
    return `${this.#selected} where ${equal(names)}${bounds} order by ${column} limit ?`
  }

  #updateText(part: Part, changed: readonly string[], where: string): string {
    const fixed = changed.find((name) => this.#fixed.has(name))
    if (fixed !== undefined) throw new Error(`${this.#table.name}.${fixed} never changes`)
    const blank = growingTables.includes(this.#table) ? ', blank = null' : ''
    const set = changed.map((name) => `${sqlName(name)} = ?`).join(', ')
    return `update ${part.name} set ${set}${blank} ${where}`
  }

  #prepare(shape: string, bound: readonly string[], text: () => string, isQuery = false): Statement {
    let statement = this.#prepared.get(shape)
    if (!statement) {
      const prepared = this.#db.prepare<SqlValue[], SqlValue[]>(text())
      if (isQuery) prepared.raw()
      statement = {
        encode: this.#codec.encoderOf(bound),
        run: prepared.run.bind(prepared) as Statement['run'],
        get: prepared.get.bind(prepared),
        all: prepared.all.bind(prepared),
      }
      this.#prepared.set(shape, statement)
    }
    return statement
  }
}

function selectAll(table: Table): string {
  const [part, other] = partsOf(table)
  const from = other ? `${part.name} cross join ${other.name} using (no)` : part.name
  const no = numberedTables.includes(table) ? ', no' : ''
  return `select ${columnList(Object.keys(table.columns))}${no} from ${from}`
}

function equal(names: readonly string[]): string {
  return names.map((name) => `${sqlName(name)} = ?`).join(' and ')
}

/** Every row of a table, in no order. */
export function readAll(db: SqliteDatabase, table: Table): Row[] {
  const codec = new RowCodec(table)
  const statement = db.prepare(selectAll(table)).raw()
  return (statement.all() as SqlValue[][]).map((values) => codec.decode(values))
}

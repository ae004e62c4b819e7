import type { SqliteDatabase } from '../../sqlite/open.ts'
import type { RangeRead } from '../operation.ts'
import { canHold, indexOf, sqlName, type Table } from '../table.ts'
import { RowCodec, type Row, type SqlValue } from './row-codec.ts'
import { columnList, growingTables } from './schema.ts'

interface Statement {
  readonly run: (...values: SqlValue[]) => { readonly changes: number }
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

  constructor(db: SqliteDatabase, table: Table) {
    this.#db = db
    this.#table = table
    this.#codec = new RowCodec(table)
    this.#fixed = new Set([...table.key, ...table.indexes.flat()])
    this.#whereKey = `where ${equal(table.key)}`
    this.#selected = `select ${columnList(this.#codec.names)} from ${table.name}`
  }

  /** The row with a key; undefined when there is none. */
  find(key: Row): Row | undefined {
    const { columns, key: names } = this.#table
    if (!names.every((name) => canHold(columns[name]!, key[name]))) return undefined
    const statement = this.#prepare('find', () => `${this.#selected} ${this.#whereKey}`, true)
    const values = statement.get(...this.#codec.encodeAll(names, key))
    return values && this.#codec.decode(values)
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
    const statement = this.#prepare(shape, () => this.#rangeText(range), true)
    const encoded = values.map(([name, value]) => this.#codec.encode(name as string, value))
    return statement.all(...encoded, limit).map((found) => this.#codec.decode(found))
  }

  insert(row: Row): void {
    const { names } = this.#codec
    const statement = this.#prepare(
      'insert',
      () =>
        `insert into ${this.#table.name} (${columnList(names)}) values (${names.map(() => '?').join(', ')})`,
    )
    statement.run(...this.#codec.encodeAll(names, row))
  }

  /** Writes what differs between the two. */
  update(before: Row, now: Row): void {
    const changed = this.#codec.names.filter((name) => before[name] !== now[name])
    if (changed.length === 0) return
    const statement = this.#prepare(changed.join(), () => this.#updateText(changed))
    const { key } = this.#table
    this.#expectOne(
      statement.run(...this.#codec.encodeAll(changed, now), ...this.#codec.encodeAll(key, before)),
    )
  }

  delete(row: Row): void {
    const statement = this.#prepare('delete', () => `delete from ${this.#table.name} ${this.#whereKey}`)
    this.#expectOne(statement.run(...this.#codec.encodeAll(this.#table.key, row)))
  }

  /** Rows that change were read before, and only this driver writes. */
  #expectOne({ changes }: { readonly changes: number }): void {
    if (changes !== 1) throw new Error(`${changes} rows of ${this.#table.name} have the key of one`)
  }

  #rangeText({ where, orderBy, after, upTo }: RangeRead): string {
    const names = Object.keys(where)
    indexOf(this.#table, names, orderBy)
    const column = sqlName(orderBy)
    const bounds = `${after === undefined ? '' : ` and ${column} > ?`}${upTo === undefined ? '' : ` and ${column} <= ?`}`
    return `${this.#selected} where ${equal(names)}${bounds} order by ${column} limit ?`
  }

  #updateText(changed: readonly string[]): string {
    const fixed = changed.find((name) => this.#fixed.has(name))
    if (fixed !== undefined) throw new Error(`${this.#table.name}.${fixed} never changes`)
    const blank = growingTables.includes(this.#table) ? ', blank = null' : ''
    const set = changed.map((name) => `${sqlName(name)} = ?`).join(', ')
    return `update ${this.#table.name} set ${set}${blank} ${this.#whereKey}`
  }

  #prepare(shape: string, text: () => string, isQuery = false): Statement {
    let statement = this.#prepared.get(shape)
    if (!statement) {
      const prepared = this.#db.prepare(text())
      statement = (isQuery ? prepared.raw() : prepared) as unknown as Statement
      this.#prepared.set(shape, statement)
    }
    return statement
  }
}

function equal(names: readonly string[]): string {
  return names.map((name) => `${sqlName(name)} = ?`).join(' and ')
}

/** Every row of a table, in no order. */
export function readAll(db: SqliteDatabase, table: Table): Row[] {
  const codec = new RowCodec(table)
  const statement = db.prepare(`select ${columnList(codec.names)} from ${table.name}`).raw()
  return (statement.all() as SqlValue[][]).map((values) => codec.decode(values))
}

import type { SqliteDatabase } from './open.ts'
import type { RangeRead } from '../operation.ts'
import { canHoldAll, columnList, indexOf, sqlName, sumsOnConflict, type Row, type Table } from '../table.ts'
import { compileTakeChanged, type TakeChanged } from '../compiled-rows.ts'
import { RowCodec, type SqlValue } from './row-codec.ts'
import { growingTables, joinedParameter, numberedTables, partsOf, type Part } from './schema.ts'

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

/** How a part of the table is written. */
interface PartWriter {
  readonly part: Part
  readonly whereKey: string
  readonly takeChanged: TakeChanged<SqlValue>
  /** By the columns that they set, as a bit mask, and the number of rows. */
  readonly inserts: Map<number, Run>
  /** By the columns that they set, and whether they find the row by its number. */
  readonly updates: Map<number, Run>
  delete?: Run
}

/** The statements of one table. Those that depend on columns are prepared on first use. */
export class TableStatements {
  readonly #db: SqliteDatabase
  readonly #table: Table
  readonly #codec: RowCodec
  readonly #find: (...values: SqlValue[]) => SqlValue[] | undefined
  readonly #ranges = new Map<string, (...values: SqlValue[]) => SqlValue[][]>()
  readonly #selected: string
  readonly #isNumbered: boolean
  readonly #parts: readonly PartWriter[]
  readonly #encodeKey: (row: Row) => SqlValue[]

  constructor(db: SqliteDatabase, table: Table) {
    this.#db = db
    this.#table = table
    this.#codec = new RowCodec(table)
    const parts = partsOf(table)
    const whereKey = `where ${equal(table.key)}`
    this.#isNumbered = numberedTables.includes(table)
    const from = parts.map(({ name }) => name).join(' cross join ') + (parts.length > 1 ? ' using (no)' : '')
    this.#selected = `select ${columnList(this.#codec.names)}${this.#isNumbered ? ', no' : ''} from ${from}`
    const find = db.prepare<SqlValue[], SqlValue[]>(`${this.#selected} ${whereKey}`).raw()
    this.#find = find.get.bind(find)
    this.#parts = parts.map((part, index) => ({
      part,
      whereKey: index === 0 ? whereKey : `where no = (select no from ${table.name} ${whereKey})`,
      takeChanged: compileTakeChanged(
        part.columns.map((name) => ({ name, encode: this.#codec.encodeOf(name) })),
      ),
      inserts: new Map(),
      updates: new Map(),
    }))
    this.#encodeKey = this.#codec.encoderOf(table.key)
  }

  /** The row with a key; undefined if there is none. */
  find(key: Row): FoundRow | undefined {
    if (!canHoldAll(this.#table, key, this.#table.key)) return undefined
    const values = this.#find(...this.#encodeKey(key))
    if (!values) return undefined
    const no = this.#isNumbered ? Number(values.pop()) : undefined
    return { row: this.#codec.decode(values), no }
  }

  findRange({ where, orderBy, after, upTo, limit }: RangeRead): Row[] {
    if (!canHoldAll(this.#table, where)) return []
    const names = Object.keys(where)
    const bounds = `${after === undefined ? '' : ' after'}${upTo === undefined ? '' : ' up to'}`
    const shape = `${names.join()} ${orderBy}${bounds}`
    let select = this.#ranges.get(shape)
    if (!select) {
      indexOf(this.#table, names, orderBy)
      const column = sqlName(orderBy)
      const isWithin = `${after === undefined ? '' : ` and ${column} > ?`}${upTo === undefined ? '' : ` and ${column} <= ?`}`
      const statement = this.#db
        .prepare<SqlValue[], SqlValue[]>(
          `${this.#selected} where ${equal(names)}${isWithin} order by ${column} limit ?`,
        )
        .raw()
      select = statement.all.bind(statement)
      this.#ranges.set(shape, select)
    }
    const values = names.map((name) => this.#codec.encode(name, where[name]))
    for (const bound of [after, upTo]) {
      if (bound !== undefined) values.push(this.#codec.encode(orderBy, bound))
    }
    return select(...values, limit).map((found) => this.#codec.decode(found))
  }

  /** Adds rows, several per statement. */
  insert(rows: readonly Row[]): readonly NewRow[] {
    const most = this.#parts.length > 1 ? 1 : insertedTogether
    const added: NewRow[] = []
    for (let index = 0; index < rows.length;) {
      const row = rows[index]!
      let count = 1
      let last = 0
      for (const writer of this.#parts) {
        const values: SqlValue[] = []
        const shape = writer.takeChanged(noRow, row, values)
        for (; count < most && index + count < rows.length; count++) {
          const { length } = values
          // Rows that omit the same columns share a statement.
          if (writer.takeChanged(noRow, rows[index + count]!, values) === shape) continue
          values.length = length
          break
        }
        last = Number(this.#insertOf(writer, row, { shape, count })(...values).lastInsertRowid)
      }
      for (; count > 0; count--) {
        const no = this.#isNumbered ? last - (count - 1) : undefined
        added.push({ row: rows[index++]!, no })
      }
    }
    return added
  }

  #insertOf(
    { part, inserts }: PartWriter,
    row: Row,
    { shape, count }: { readonly shape: number; readonly count: number },
  ): Run {
    const name = shape * insertedTogether + count - 1
    let run = inserts.get(name)
    if (!run) {
      const { name: tableName, sums } = this.#table
      const names = part.columns.filter((column) => isChanged(null, row[column]))
      const marks = names.map(() => '?').join(', ')
      // The part with the key was written before.
      const [no, value] = part.name === tableName ? ['', ''] : ['no, ', 'last_insert_rowid(), ']
      const lists = Array.from({ length: count }, () => `(${value}${marks})`)
      const addingUp = sums ? ` on conflict do ${sumsOnConflict(tableName, sums)}` : ''
      run = this.#prepare(
        `insert into ${part.name} (${no}${columnList(names)}) values ${lists.join(', ')}${addingUp}`,
      )
      inserts.set(name, run)
    }
    return run
  }

  /** Writes the difference between a row and its new version. */
  update(before: Row, now: Row, no: FoundRow['no']): void {
    for (const { part, whereKey, takeChanged, updates } of this.#parts) {
      const values: SqlValue[] = []
      const shape = takeChanged(before, now, values)
      if (shape === 0) continue
      const name = 2 * shape + (no === undefined ? 0 : 1)
      let run = updates.get(name)
      if (!run) {
        const where = no === undefined ? whereKey : 'where no = ?'
        run = this.#prepare(`${this.#updateText(part, before, now)} ${where}`)
        updates.set(name, run)
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
      writer.delete ??= this.#prepare(`delete from ${writer.part.name} ${writer.whereKey}`)
      this.#expectOne(writer.delete(...key))
    }
  }

  /** Rows that change were read before, and only this driver writes. */
  #expectOne({ changes }: RunResult): void {
    if (changes !== 1) throw new Error(`${changes} rows of ${this.#table.name} have the key of one`)
  }

  #updateText({ name, columns }: Part, before: Row, now: Row): string {
    const { key, indexes } = this.#table
    const changed = columns.filter((column) => isChanged(before[column], now[column]))
    const fixed = changed.find((column) => [key, ...indexes].flat().includes(column))
    if (fixed !== undefined) throw new Error(`${this.#table.name}.${fixed} never changes`)
    const set = changed.map((column) => `${sqlName(column)} = ?`)
    if (growingTables.includes(this.#table)) set.push('blank = null')
    return `update ${name} set ${set.join(', ')}`
  }

  #prepare(text: string): Run {
    const prepared = this.#db.prepare<SqlValue[]>(text)
    return prepared.run.bind(prepared)
  }
}

const noRow: Row = {}

/** Max rows of one insert: running a statement costs as much as writing a row of ten columns. */
export const insertedTogether = 8

function isChanged(before: unknown, now: unknown): boolean {
  return (before ?? null) !== (now ?? null)
}

function equal(names: readonly string[]): string {
  return names.map((name) => `${sqlName(name)} = ${joinedParameter}`).join(' and ')
}

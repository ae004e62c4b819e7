import { idText } from '../../../domain/type-id.ts'
import type { SqliteDatabase } from './open.ts'
import { isWithin } from '../batch-facts.ts'
import type { RangeRead } from '../operation.ts'
import { canHoldAll, columnList, sqlName, type Row } from '../table.ts'
import { payments, type EntryRow, type PaymentRow } from '../tables.ts'
import { RowCodec, type SqlValue } from './row-codec.ts'
import { entriesOfMandates, joinedParameter, openPayments, type LateTable } from './schema.ts'
import { insertedTogether, type FoundRow } from './table-statements.ts'

/** What is kept of a mandate's rows. */
interface Group<Item> {
  readonly accountId: string
  readonly items: Item[]
}

/**
 * How many rows are kept in memory before the remaining ones are indexed. The more rows of one mandate are written together, the
 * fewer pages are.
 */
const defaultGenerationSize = 16_384

/** Sorts after every id. */
const afterEveryId = '~'

/**
 * An index of rows by their mandates. Writing an index entry with each row would change a separate page each
 * time, since consecutive rows have different mandates. So new rows are kept in memory, and are indexed one
 * or two generations later, mandate by mandate. Rows whose ids sort before the mark are indexed; after a
 * restart the others are read from the file.
 */
abstract class LateIndex<Item> {
  protected readonly codec: RowCodec
  readonly #idName: string
  readonly #generationSize: number
  readonly #encodeMandate: (row: Row) => SqlValue[]
  readonly #encodeRow: (row: Row) => SqlValue[]
  /** By the number of rows. */
  readonly #inserts: ((...values: SqlValue[]) => unknown)[]
  readonly #setMark: (mark: SqlValue) => unknown
  /** The last rows that were added, by mandate; how many they were, and an id that is not larger than theirs. */
  #young = new Map<string, Group<Item>>()
  #added = 0
  #leastId = afterEveryId
  /** The rows that are being written into the index. */
  #old = new Map<string, Group<Item>>()
  #mark = ''
  /** How many of them are to be written next. */
  #due = 0
  /** What the current transaction adds, what it leaves of a mandate's rows, and the mark that it has set. */
  #new: readonly FoundRow[] = []
  #left: { readonly mandateId: string; readonly group: Group<Item>; readonly length: number }[] = []
  #newMark: string | undefined

  constructor(
    database: SqliteDatabase,
    { name, table, columns }: LateTable,
    generationSize = defaultGenerationSize,
  ) {
    this.codec = new RowCodec(table)
    this.#idName = columns.at(-1)!
    this.#generationSize = generationSize
    this.#encodeMandate = this.codec.encoderOf(mandateColumns)
    this.#encodeRow = this.codec.encoderOf(columns)
    const all = [...mandateColumns, ...columns]
    const places = `(${all.map(() => '?').join(', ')})`
    this.#inserts = Array.from({ length: insertedTogether }, (_, index) => {
      const rows = Array.from({ length: index + 1 }, () => places)
      const insert = database.prepare(
        `insert or ignore into ${name} (${columnList(all)}) values ${rows.join(', ')}`,
      )
      return insert.run.bind(insert)
    })
    const setMark = database.prepare(`insert or replace into index_marks (name, mark) values ('${name}', ?)`)
    this.#setMark = setMark.run.bind(setMark)
    const mark = database
      .prepare<[], Buffer>(`select mark from index_marks where name = '${name}'`)
      .pluck()
      .get()
    if (mark) this.#mark = idText(table.columns[this.#idName]!.idKind!, mark)
    const rest = database
      .prepare<[Buffer], SqlValue[]>(
        `select ${columnList(this.codec.names)} from ${table.name}
         where account_id in (select id from accounts) and ${sqlName(this.#idName)} >= ?`,
      )
      .raw()
    for (const values of rest.iterate(mark ?? Buffer.alloc(0)))
      this.#add({ row: this.codec.decode(values), no: undefined })
  }

  /** What is kept of a row; undefined if it should not be indexed. */
  protected abstract itemOf(found: FoundRow): Item | undefined

  /** A row with the index columns; undefined if it should no longer be indexed, as far as is known. */
  protected abstract rowOf(item: Item): Row | undefined

  /** A mandate's rows that wait for the index, in the order in which they were added. */
  protected waitingOf(mandateId: string): readonly Row[] {
    return this.#groupsOf(mandateId).flatMap(({ items }) => {
      const rows: Row[] = []
      const left = items.filter((item) => {
        const row = this.rowOf(item)
        if (row) rows.push(row)
        return row !== undefined
      })
      if (left.length < items.length) items.splice(0, items.length, ...left)
      return rows
    })
  }

  /** Whether rows of a mandate wait for the index. */
  isWaiting(mandateId: string): boolean {
    return this.#groupsOf(mandateId).length > 0
  }

  /** Writes a mandate's waiting rows, in a transaction that changes nothing else. */
  writeOf(mandateId: string): void {
    this.#begin([])
    for (const group of this.#groupsOf(mandateId)) this.#writeSome(mandateId, group, group.items.length)
  }

  /** Call in the transaction that adds rows: writes twice as many old ones, to keep ahead of new ones. */
  write(added: readonly FoundRow[]): void {
    this.#begin(added)
    let leastId = this.#leastId
    for (const found of added) {
      const row = found.row!
      const id = row[this.#idName] as string
      if (id < leastId) leastId = id
      // The clock was set back.
      const late = id < this.#mark ? this.itemOf(found) : undefined
      if (late !== undefined) this.#insert(row['accountId'] as string, row['mandateId'] as string, [late])
    }
    if (this.#old.size === 0) return
    this.#due += 2 * added.length
    // Writing a few rows costs as much as writing as many as one statement can.
    if (this.#due < insertedTogether) return
    for (const [mandateId, group] of this.#old) {
      if (this.#due === 0) return
      this.#due -= this.#writeSome(mandateId, group, this.#due)
    }
    this.#due = 0
    if (this.#left.some(({ length }) => length > 0)) return
    this.#newMark = leastId
    this.#setMark(this.codec.encode(this.#idName, leastId))
  }

  /** Call after the transaction. */
  committed(): void {
    for (const { mandateId, group, length } of this.#left) {
      group.items.length = length
      if (length > 0) continue
      const groups = this.#old.get(mandateId) === group ? this.#old : this.#young
      groups.delete(mandateId)
    }
    for (const found of this.#new) this.#add(found)
    if (this.#newMark !== undefined) this.#mark = this.#newMark
    if (this.#old.size > 0 || this.#added < this.#generationSize) return
    this.#old = this.#young
    this.#young = new Map()
    this.#added = 0
    this.#leastId = afterEveryId
  }

  #begin(added: readonly FoundRow[]): void {
    this.#new = added
    this.#left = []
    this.#newMark = undefined
  }

  /** Writes the last rows of a group; returns their number. */
  #writeSome(mandateId: string, group: Group<Item>, most: number): number {
    const { accountId, items } = group
    const length = Math.max(0, items.length - most)
    this.#insert(accountId, mandateId, items.slice(length))
    this.#left.push({ mandateId, group, length })
    return items.length - length
  }

  #insert(accountId: string, mandateId: string, items: readonly Item[]): void {
    const mandate = this.#encodeMandate({ accountId, mandateId })
    let values: SqlValue[] = []
    let count = 0
    const write = () => {
      if (count > 0) this.#inserts[count - 1]!(...values)
      values = []
      count = 0
    }
    for (const item of items) {
      const row = this.rowOf(item)
      if (!row) continue
      values.push(...mandate, ...this.#encodeRow(row))
      count += 1
      if (count === insertedTogether) write()
    }
    write()
  }

  #add(found: FoundRow): void {
    const row = found.row!
    const id = row[this.#idName] as string
    if (id < this.#mark) return
    this.#added += 1
    if (id < this.#leastId) this.#leastId = id
    const item = this.itemOf(found)
    if (item === undefined) return
    const mandateId = row['mandateId'] as string
    const group = this.#young.get(mandateId)
    if (group) group.items.push(item)
    else this.#young.set(mandateId, { accountId: row['accountId'] as string, items: [item] })
  }

  #groupsOf(mandateId: string): readonly Group<Item>[] {
    return [this.#old, this.#young].flatMap((groups) => groups.get(mandateId) ?? [])
  }
}

const mandateColumns = ['accountId', 'mandateId']

/** The ids of each mandate's entries. Entries of received payments name mandates of other accounts. */
export class EntriesOfMandates extends LateIndex<string> {
  constructor(database: SqliteDatabase, generationSize?: number) {
    super(database, entriesOfMandates, generationSize)
  }

  protected override itemOf({ row }: FoundRow): string | undefined {
    const { accountId, payerId, mandateId, id } = row as EntryRow
    return mandateId !== null && payerId === accountId ? id : undefined
  }

  protected override rowOf(id: string): Row {
    return { id }
  }
}

interface OpenPaymentsOptions {
  /** The current row of a payment. */
  readonly lookUp: (key: Row) => Row | undefined
  readonly generationSize?: number | undefined
}

/** The open payments of each mandate, ordered by expiry. Most are captured before they are indexed. */
export class OpenPayments extends LateIndex<FoundRow> {
  readonly #lookUp: OpenPaymentsOptions['lookUp']
  readonly #encodeScope = this.codec.encoderOf(['accountId', 'mandateId', 'epoch'])
  readonly #findFirst: (...values: SqlValue[]) => SqlValue[] | undefined
  readonly #select: (...values: SqlValue[]) => SqlValue[][]

  constructor(database: SqliteDatabase, { lookUp, generationSize }: OpenPaymentsOptions) {
    super(database, openPayments, generationSize)
    this.#lookUp = lookUp
    const comparisons = ['account_id =', 'mandate_id =', 'epoch =', 'expires_at_ms >', 'expires_at_ms <=']
    const isInRange = comparisons.map((start) => `${start} ${joinedParameter}`).join(' and ')
    const findFirst = database
      .prepare<SqlValue[], SqlValue[]>(`select 1 from open_payments where ${isInRange} limit 1`)
      .raw()
    this.#findFirst = findFirst.get.bind(findFirst)
    const select = database
      .prepare<SqlValue[], SqlValue[]>(
        `select ${columnList(this.codec.names)}
         from open_payments cross join payments using (account_id, mandate_id, epoch, expires_at_ms, nonce)
         where ${isInRange} order by expires_at_ms limit ?`,
      )
      .raw()
    this.#select = select.all.bind(select)
  }

  /** An ended payment is dropped, or no longer kept as open. */
  protected override itemOf(found: FoundRow): FoundRow | undefined {
    return found.row?.['status'] === 'open' ? found : undefined
  }

  protected override rowOf(found: FoundRow): Row | undefined {
    return this.itemOf(found)?.row
  }

  find(range: RangeRead): PaymentRow[] {
    const { where, after = 0, upTo = Number.MAX_SAFE_INTEGER, limit } = range
    if (!canHoldAll(payments, where)) return []
    const { mandateId } = where as Pick<PaymentRow, 'mandateId'>
    const rows = new Map<string, PaymentRow>()
    const bounds = [...this.#encodeScope(where), after, upTo]
    // Usually there is none, and a query of the index alone says so in a third of the time.
    for (const found of this.#findFirst(...bounds) ? this.#select(...bounds, limit) : []) {
      const row = this.codec.decode(found) as PaymentRow
      rows.set(row.nonce, row)
    }
    for (const key of this.waitingOf(mandateId)) {
      const row = isWithin(range, key) && (this.#lookUp(key) as PaymentRow | undefined)
      if (row) rows.set(row.nonce, row)
    }
    return [...rows.values()].sort((one, other) => one.expiresAtMs - other.expiresAtMs).slice(0, limit)
  }
}

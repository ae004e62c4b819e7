import { idText } from '../../../domain/type-id.ts'
import type { SqliteDatabase } from './open.ts'
import { isWithin } from '../batch-facts.ts'
import type { RangeRead } from '../operation.ts'
import { canHold, sqlName, type Table } from '../table.ts'
import { entries, payments, type PaymentRow } from '../tables.ts'
import { RowCodec, type Row, type SqlValue } from './row-codec.ts'
import { columnList } from './schema.ts'
import { insertedTogether, type FoundRow } from './table-statements.ts'

/** Rows that were added one after the other. */
interface Generation {
  readonly groups: Map<string, FoundRow[]>
  added: number
  /** No row in it has a smaller id. */
  leastId: string
}

/** How many rows are kept in memory before the remaining ones are indexed. */
const defaultGenerationSize = 16_384

/** Sorts after every id. */
const noId = '~'

interface LateIndexOptions {
  readonly name: string
  readonly table: Table
  /** The index columns, which never change; the last is the id of a row. */
  readonly columns: readonly string[]
  /** Whether a row should be indexed, as far as is known. */
  readonly has: (found: Pick<FoundRow, 'row'>) => boolean
  readonly generationSize?: number | undefined
}

/**
 * An index of rows by their mandates. Writing an index entry with each row would change a separate page each
 * time, since consecutive rows have different mandates. So new rows are kept in memory, and are indexed one
 * or two generations later, mandate by mandate. Rows whose ids sort before the mark are indexed; after a
 * restart the others are read from the file.
 */
class LateIndex {
  readonly #has: LateIndexOptions['has']
  readonly #idName: string
  readonly #generationSize: number
  readonly #encode: (row: Row) => SqlValue[]
  readonly #encodeId: (row: Row) => SqlValue[]
  /** By the number of rows. */
  readonly #inserts: ((...values: SqlValue[]) => unknown)[]
  readonly #setMark: (...values: SqlValue[]) => unknown
  #young: Generation = newGeneration()
  /** The group that is being written into the index. */
  #old = new Map<string, FoundRow[]>()
  #mark = ''
  /** What the current transaction leaves of a mandate's rows, and the mark that it has set. */
  #left: { readonly mandateId: string; readonly group: FoundRow[]; readonly length: number }[] = []
  #newMark: string | undefined

  constructor(
    database: SqliteDatabase,
    { name, table, columns, generationSize = defaultGenerationSize, ...options }: LateIndexOptions,
  ) {
    const codec = new RowCodec(table)
    const idName = columns.at(-1)!
    this.#has = options.has
    this.#idName = idName
    this.#generationSize = generationSize
    this.#encode = codec.encoderOf(columns)
    this.#encodeId = codec.encoderOf([idName])
    const places = `(${columns.map(() => '?').join(', ')})`
    this.#inserts = Array.from({ length: insertedTogether + 1 }, (_, count) => {
      const rows = Array.from({ length: Math.max(1, count) }, () => places)
      const insert = database.prepare(
        `insert or ignore into ${name} (${columnList(columns)}) values ${rows.join(', ')}`,
      )
      return insert.run.bind(insert)
    })
    const setMark = database.prepare(`insert or replace into index_marks (name, mark) values ('${name}', ?)`)
    this.#setMark = setMark.run.bind(setMark)
    const mark = database
      .prepare<[], Buffer>(`select mark from index_marks where name = '${name}'`)
      .pluck()
      .get()
    if (mark) this.#mark = idText(table.columns[idName]!.idKind!, mark)
    const rest = database
      .prepare<[Buffer], SqlValue[]>(
        `with recursive owners (account_id) as (
           select min(account_id) from ${table.name} union all
           select (select min(account_id) from ${table.name} where account_id > o.account_id) from owners o
           where o.account_id is not null)
         select ${columnList(codec.names)} from owners cross join ${table.name} using (account_id)
         where ${sqlName(idName)} >= ?`,
      )
      .raw()
    for (const values of rest.iterate(mark ?? Buffer.alloc(0)))
      this.#add({ row: codec.decode(values), no: undefined })
  }

  /** A mandate's rows that wait for the index, in the order in which they were added. */
  waitingOf(mandateId: string): readonly Row[] {
    return [...this.#groupsOf(mandateId)].flatMap((group) => {
      const left = group.filter(this.#has)
      if (left.length < group.length) group.splice(0, group.length, ...left)
      return left.map(({ row }) => row!)
    })
  }

  /** Writes a mandate's waiting rows, in a transaction that changes nothing else. */
  writeOf(mandateId: string): void {
    this.#begin()
    for (const group of this.#groupsOf(mandateId)) this.#writeSome(mandateId, group, group.length)
  }

  /** Call in the transaction that adds rows: writes twice as many old ones, to keep ahead of new ones. */
  write(added: readonly Row[]): void {
    this.#begin()
    let { leastId } = this.#young
    for (const row of added) {
      const id = row[this.#idName] as string
      if (id < leastId) leastId = id
      // The clock was set back.
      if (id < this.#mark && this.#has({ row })) this.#insert([row])
    }
    if (added.length === 0 || this.#old.size === 0) return
    let most = 2 * added.length
    for (const [mandateId, group] of this.#old) {
      if (most === 0) return
      most -= this.#writeSome(mandateId, group, most)
    }
    if (this.#left.some(({ length }) => length > 0)) return
    this.#newMark = leastId
    this.#setMark(...this.#encodeId({ [this.#idName]: leastId }))
  }

  /** Call after the transaction: takes in the rows that it added. */
  committed(added: readonly FoundRow[]): void {
    for (const { mandateId, group, length } of this.#left) {
      group.length = length
      if (length > 0) continue
      if (this.#old.get(mandateId) === group) this.#old.delete(mandateId)
      else this.#young.groups.delete(mandateId)
    }
    for (const found of added) this.#add(found)
    if (this.#newMark !== undefined) this.#mark = this.#newMark
    this.#begin()
    if (this.#old.size > 0 || this.#young.added < this.#generationSize) return
    this.#old = this.#young.groups
    this.#young = newGeneration()
  }

  #begin(): void {
    this.#left = []
    this.#newMark = undefined
  }

  /** Writes the last rows of a group; returns their number. */
  #writeSome(mandateId: string, group: FoundRow[], most: number): number {
    const length = Math.max(0, group.length - most)
    const rows: Row[] = []
    for (let index = length; index < group.length; index++) {
      const found = group[index]!
      if (this.#has(found)) rows.push(found.row!)
    }
    this.#insert(rows)
    this.#left.push({ mandateId, group, length })
    return group.length - length
  }

  #insert(rows: readonly Row[]): void {
    for (let index = 0; index < rows.length; index += insertedTogether) {
      const some = rows.slice(index, index + insertedTogether)
      this.#inserts[some.length]!(...some.flatMap(this.#encode))
    }
  }

  #add(found: FoundRow): void {
    const row = found.row!
    const id = row[this.#idName] as string
    if (id < this.#mark) return
    const young = this.#young
    young.added += 1
    if (id < young.leastId) young.leastId = id
    if (!this.#has(found)) return
    const mandateId = row['mandateId'] as string
    const group = young.groups.get(mandateId)
    if (group) group.push(found)
    else young.groups.set(mandateId, [found])
  }

  *#groupsOf(mandateId: string): Iterable<FoundRow[]> {
    for (const groups of [this.#old, this.#young.groups]) {
      const group = groups.get(mandateId)
      if (group) yield group
    }
  }
}

function newGeneration(): Generation {
  return { groups: new Map(), added: 0, leastId: noId }
}

/** The entries of each mandate. Entries of received payments name mandates of other accounts. */
export class EntriesOfMandates extends LateIndex {
  constructor(database: SqliteDatabase, generationSize?: number) {
    super(database, {
      name: 'entries_of_mandates',
      table: entries,
      columns: ['accountId', 'mandateId', 'id'],
      has: ({ row }) => row !== undefined && row['mandateId'] !== null && row['payerId'] === row['accountId'],
      generationSize,
    })
  }
}

interface OpenPaymentsOptions {
  /** The current row of a payment. */
  readonly lookUp: (key: Row) => Row | undefined
  readonly generationSize?: number | undefined
}

/** The open payments of each mandate, ordered by expiry. Most are captured before they are indexed. */
export class OpenPayments extends LateIndex {
  readonly #lookUp: OpenPaymentsOptions['lookUp']
  readonly #codec = new RowCodec(payments)
  readonly #encodeScope = this.#codec.encoderOf(['accountId', 'mandateId', 'epoch'])
  readonly #findFirst: (...values: SqlValue[]) => SqlValue[] | undefined
  readonly #select: (...values: SqlValue[]) => SqlValue[][]

  constructor(database: SqliteDatabase, { lookUp, generationSize }: OpenPaymentsOptions) {
    super(database, {
      name: 'open_payments',
      table: payments,
      columns: ['accountId', 'mandateId', 'epoch', 'expiresAtMs', 'nonce'],
      // An ended payment is dropped, or no longer kept as open.
      has: ({ row }) => row?.['status'] === 'open',
      generationSize,
    })
    this.#lookUp = lookUp
    const isInRange =
      'account_id = ? and mandate_id = ? and epoch = ? and expires_at_ms > ? and expires_at_ms <= ?'
    const findFirst = database
      .prepare<SqlValue[], SqlValue[]>(`select 1 from open_payments where ${isInRange} limit 1`)
      .raw()
    this.#findFirst = findFirst.get.bind(findFirst)
    const select = database
      .prepare<SqlValue[], SqlValue[]>(
        `select ${columnList(this.#codec.names)}
         from open_payments cross join payments using (account_id, mandate_id, epoch, expires_at_ms, nonce)
         where ${isInRange} order by expires_at_ms limit ?`,
      )
      .raw()
    this.#select = select.all.bind(select)
  }

  find(range: RangeRead): PaymentRow[] {
    const { where, after = 0, upTo = Number.MAX_SAFE_INTEGER, limit } = range
    const { accountId, mandateId, epoch } = where as Pick<PaymentRow, 'accountId' | 'mandateId' | 'epoch'>
    if (!canHold(payments.columns.accountId, accountId)) return []
    if (!canHold(payments.columns.mandateId, mandateId)) return []
    const rows = new Map<string, PaymentRow>()
    const bounds = [...this.#encodeScope({ accountId, mandateId, epoch }), after, upTo]
    // Usually there is none, and a query of the index alone says so in a third of the time.
    for (const found of this.#findFirst(...bounds) ? this.#select(...bounds, limit) : []) {
      const row = this.#codec.decode(found) as PaymentRow
      rows.set(row.nonce, row)
    }
    const indexed = rows.size
    for (const key of this.waitingOf(mandateId)) {
      const row = isWithin(range, key) && (this.#lookUp(key) as PaymentRow | undefined)
      if (row) rows.set(row.nonce, row)
    }
    if (rows.size === indexed) return [...rows.values()]
    return [...rows.values()].sort((one, other) => one.expiresAtMs - other.expiresAtMs).slice(0, limit)
  }
}

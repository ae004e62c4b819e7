import { idText } from '../../../domain/type-id.ts'
import type { SqliteDatabase } from './open.ts'
import { isWithin } from '../batch-facts.ts'
import type { NetChange } from '../driver.ts'
import type { RangeRead } from '../operation.ts'
import { canHold, sqlName, type Table } from '../table.ts'
import { entries, payments, type EntryRow, type PaymentRow } from '../tables.ts'
import { RowCodec, type Row, type SqlValue } from './row-codec.ts'
import { columnList } from './schema.ts'

/** What is kept of a row until it is indexed. */
type Kept = Row & { readonly mandateId: string }

/** Rows that were added one after the other, by mandate and id. */
interface Generation<Of> {
  readonly groups: Map<string, Map<string, Of>>
  added: number
  /** No row of it has a lesser id. */
  leastId: string
}

/** So many rows are kept in memory before those that are left of them are indexed. */
const defaultGenerationSize = 16_384

/** After every id. */
const noId = '~'

interface LateIndexOptions<Of> {
  readonly name: string
  readonly table: Table
  /** Its columns; the last is the id of a row. */
  readonly columns: readonly string[]
  /** What is kept of a row; undefined when it is not to be indexed, or no longer. */
  readonly keep: (row: Row) => Of | undefined
  readonly generationSize?: number | undefined
}

/**
 * An index of rows by their mandates. An entry written with each row would change a page of its own, since one row follows
 * another of a different mandate. So new rows are kept in memory, and the index gets them one or two generations later,
 * mandate by mandate. Rows whose ids are before its mark are indexed; a new start reads the others from the file.
 */
class LateIndex<Of extends Kept> {
  readonly #table: Table
  readonly #keep: LateIndexOptions<Of>['keep']
  readonly #idName: string
  readonly #generationSize: number
  readonly #encode: (row: Row) => SqlValue[]
  readonly #encodeId: (row: Row) => SqlValue[]
  readonly #insert: (...values: SqlValue[]) => unknown
  readonly #setMark: (...values: SqlValue[]) => unknown
  #young: Generation<Of> = newGeneration()
  /** What is being written into the index. */
  #old: Generation<Of> = newGeneration()
  #mark = ''
  /** What the current transaction has written of it, and the mark that it has set. */
  #written: Of[] = []
  #newMark: string | undefined

  constructor(
    database: SqliteDatabase,
    { name, table, columns, keep, generationSize = defaultGenerationSize }: LateIndexOptions<Of>,
  ) {
    const codec = new RowCodec(table)
    const idName = columns.at(-1)!
    this.#table = table
    this.#keep = keep
    this.#idName = idName
    this.#generationSize = generationSize
    this.#encode = codec.encoderOf(columns)
    this.#encodeId = codec.encoderOf([idName])
    const places = columns.map(() => '?').join(', ')
    const insert = database.prepare(
      `insert or ignore into ${name} (${columnList(columns)}) values (${places})`,
    )
    this.#insert = insert.run.bind(insert)
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
    for (const values of rest.iterate(mark ?? Buffer.alloc(0))) this.#add(codec.decode(values))
  }

  /** What waits of a mandate. */
  waitingOf(mandateId: string): Of[] {
    return [this.#old, this.#young].flatMap(({ groups }) => [...(groups.get(mandateId)?.values() ?? [])])
  }

  /** In a transaction that changes nothing else: writes what waits of a mandate. */
  writeOf(mandateId: string): void {
    this.#written = this.waitingOf(mandateId)
    this.#newMark = undefined
    for (const row of this.#written) this.#insert(...this.#encode(row))
  }

  /** In a transaction that adds rows: writes twice as many old ones, which keeps ahead of the young. */
  write(changes: readonly NetChange[]): void {
    this.#written = []
    this.#newMark = undefined
    let added = 0
    let { leastId } = this.#young
    for (const { table, before, now } of changes) {
      if (table !== this.#table || before || !now) continue
      const id = this.#idOf(now)
      added += 1
      if (id < leastId) leastId = id
      // The clock was set back.
      const kept = id < this.#mark && this.#keep(now)
      if (kept) this.#insert(...this.#encode(kept))
    }
    if (added === 0 || this.#old.added === 0) return
    for (const group of this.#old.groups.values()) {
      for (const row of group.values()) {
        if (this.#written.length >= 2 * added) return
        this.#insert(...this.#encode(row))
        this.#written.push(row)
      }
    }
    this.#newMark = leastId
    this.#setMark(...this.#encodeId({ [this.#idName]: leastId }))
  }

  /** After a transaction: takes in what it has changed. */
  committed(changes: readonly NetChange[]): void {
    for (const row of this.#written) this.#forget(row)
    this.#written = []
    for (const { table, before, now } of changes) {
      if (table !== this.#table || !now) continue
      if (!before) this.#add(now)
      else if (!this.#keep(now)) this.#forget(now as Kept)
    }
    if (this.#newMark !== undefined) {
      this.#mark = this.#newMark
      this.#newMark = undefined
      this.#old = newGeneration()
    }
    if (this.#old.added > 0 || this.#young.added < this.#generationSize) return
    this.#old = this.#young
    this.#young = newGeneration()
  }

  #add(row: Row): void {
    const id = this.#idOf(row)
    const kept = this.#keep(row)
    if (id < this.#mark) return
    const young = this.#young
    young.added += 1
    if (id < young.leastId) young.leastId = id
    if (!kept) return
    const group = young.groups.get(kept.mandateId)
    if (group) group.set(id, kept)
    else young.groups.set(kept.mandateId, new Map([[id, kept]]))
  }

  #forget(row: Kept): void {
    const id = this.#idOf(row)
    if (!this.#young.groups.get(row.mandateId)?.delete(id)) this.#old.groups.get(row.mandateId)?.delete(id)
  }

  #idOf(row: Row): string {
    return row[this.#idName] as string
  }
}

function newGeneration<Of>(): Generation<Of> {
  return { groups: new Map(), added: 0, leastId: noId }
}

/** The entries of each mandate. Those that an account has received are of mandates that it does not have. */
export class EntriesOfMandates extends LateIndex<Pick<EntryRow, 'accountId' | 'mandateId' | 'id'> & Kept> {
  constructor(database: SqliteDatabase, generationSize?: number) {
    super(database, {
      name: 'entries_of_mandates',
      table: entries,
      columns: ['accountId', 'mandateId', 'id'],
      keep: (row) => {
        const { accountId, mandateId, id, payerId } = row as EntryRow
        return mandateId === null || payerId !== accountId ? undefined : { accountId, mandateId, id }
      },
      generationSize,
    })
  }
}

/** The open payments of each mandate, in the order in which they expire. Most are captured before they are indexed. */
export class OpenPayments extends LateIndex<PaymentRow> {
  readonly #codec = new RowCodec(payments)
  readonly #encodeScope = this.#codec.encoderOf(['accountId', 'mandateId', 'epoch'])
  readonly #findFirst: (...values: SqlValue[]) => SqlValue[] | undefined
  readonly #select: (...values: SqlValue[]) => SqlValue[][]

  constructor(database: SqliteDatabase, generationSize?: number) {
    super(database, {
      name: 'open_payments',
      table: payments,
      columns: ['accountId', 'mandateId', 'epoch', 'expiresAtMs', 'nonce'],
      keep: (row) => (row['status'] === 'open' ? (row as PaymentRow) : undefined),
      generationSize,
    })
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
    // Most often there is none, which the index alone tells in a third of the time.
    for (const found of this.#findFirst(...bounds) ? this.#select(...bounds, limit) : []) {
      const row = this.#codec.decode(found) as PaymentRow
      rows.set(row.nonce, row)
    }
    const indexed = rows.size
    for (const row of this.waitingOf(mandateId)) if (isWithin(range, row)) rows.set(row.nonce, row)
    if (rows.size === indexed) return [...rows.values()]
    return [...rows.values()].sort((one, other) => one.expiresAtMs - other.expiresAtMs).slice(0, limit)
  }
}

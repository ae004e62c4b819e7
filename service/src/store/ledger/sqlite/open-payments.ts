import type { SqliteDatabase } from './open.ts'
import { isWithin } from '../batch-facts.ts'
import type { NetChange } from '../driver.ts'
import type { RangeRead } from '../operation.ts'
import { canHold } from '../table.ts'
import { payments, type PaymentRow } from '../tables.ts'
import { RowCodec, type SqlValue } from './row-codec.ts'
import { columnList } from './schema.ts'

/** Open payments of a mandate that the index does not have yet, by their nonces. */
type Group = Map<string, PaymentRow>

/** Payments in the order of the file, in generations of so many. */
const defaultGenerationSize = 16_384

/**
 * Finds the open payments of a mandate in the order in which they expire. An index entry written with each proof would
 * change a page of its own, since one payment follows another in a different mandate. So new payments are kept in memory,
 * and the index gets those that are still open one or two generations later, mandate by mandate: most are captured by then.
 * A new start reads the last generations from the file.
 */
export class OpenPayments {
  readonly #generationSize: number
  readonly #codec = new RowCodec(payments)
  readonly #encode = this.#codec.encoderOf(indexColumns)
  readonly #encodeScope = this.#codec.encoderOf(['accountId', 'mandateId', 'epoch'])
  readonly #insert: (...values: SqlValue[]) => unknown
  readonly #setMark: (no: bigint) => unknown
  readonly #select: (...values: SqlValue[]) => SqlValue[][]
  #young = new Map<string, Group>()
  /** What is being written into the index. */
  #old = new Map<string, Group>()
  /** The numbers of the last payments: of all, of those that are not young, and of those that the index has if open. */
  #lastNo: bigint
  #oldUpTo: bigint
  #mark: bigint
  /** What the current transaction has written into the index, and whether nothing old is left then. */
  #written: PaymentRow[] = []
  #isOldWritten = false

  constructor(database: SqliteDatabase, generationSize = defaultGenerationSize) {
    this.#generationSize = generationSize
    const names = columnList(indexColumns)
    const marks = indexColumns.map(() => '?').join(', ')
    const insert = database.prepare(`insert or ignore into open_payments (${names}) values (${marks})`)
    this.#insert = insert.run.bind(insert)
    const setMark = database.prepare(
      "insert or replace into index_marks (name, up_to_no) values ('open_payments', ?)",
    )
    this.#setMark = setMark.run.bind(setMark)
    const columns = Object.keys(payments.columns)
    const select = database
      .prepare<SqlValue[], SqlValue[]>(
        `select ${columnList(columns)}
         from open_payments cross join payments using (account_id, mandate_id, epoch, expires_at_ms, nonce)
         where account_id = ? and mandate_id = ? and epoch = ? and expires_at_ms > ? and expires_at_ms <= ?
         order by expires_at_ms limit ?`,
      )
      .raw()
    this.#select = select.all.bind(select)
    const mark = database.prepare("select up_to_no from index_marks where name = 'open_payments'").pluck()
    this.#mark = (mark.get() ?? 0n) as bigint
    this.#oldUpTo = this.#mark
    this.#lastNo = this.#mark
    const rest = database
      .prepare<bigint, SqlValue[]>(`select no, ${columnList(columns)} from payments where no > ?`)
      .raw()
    for (const [no, ...values] of rest.iterate(this.#mark)) {
      const row = this.#codec.decode(values) as PaymentRow
      this.#lastNo = no as bigint
      if (row.status === 'open') this.#add(row)
    }
  }

  find(range: RangeRead): PaymentRow[] {
    const { where, after = 0, upTo = Number.MAX_SAFE_INTEGER, limit } = range
    const scope = where as Scope
    if (!canHold(payments.columns.accountId, scope.accountId)) return []
    if (!canHold(payments.columns.mandateId, scope.mandateId)) return []
    const rows = new Map<string, PaymentRow>()
    for (const found of this.#select(...this.#encodeScope(scope), after, upTo, limit)) {
      const row = this.#codec.decode(found) as PaymentRow
      rows.set(row.nonce, row)
    }
    const indexed = rows.size
    for (const groups of [this.#old, this.#young]) {
      for (const row of groups.get(groupKey(scope))?.values() ?? []) {
        if (isWithin(range, row)) rows.set(row.nonce, row)
      }
    }
    if (rows.size === indexed) return [...rows.values()]
    return [...rows.values()].sort((one, other) => one.expiresAtMs - other.expiresAtMs).slice(0, limit)
  }

  /** In a transaction that adds payments: writes twice as many old ones, which keeps ahead of the young. */
  writeOld(changes: readonly NetChange[]): void {
    this.#written = []
    this.#isOldWritten = false
    if (this.#mark === this.#oldUpTo) return
    const added = changes.filter(({ table, before }) => table === payments && !before).length
    if (added === 0) return
    for (const group of this.#old.values()) {
      for (const row of group.values()) {
        if (this.#written.length >= 2 * added) return
        this.#insert(...this.#encode(row))
        this.#written.push(row)
      }
    }
    this.#setMark(this.#oldUpTo)
    this.#isOldWritten = true
  }

  /** After a transaction: takes in what it has changed, with the numbers of the rows. */
  committed(changes: readonly NetChange[], numbers: readonly (bigint | undefined)[]): void {
    for (const row of this.#written) forget(this.#old, row)
    this.#written = []
    if (this.#isOldWritten) this.#mark = this.#oldUpTo
    this.#isOldWritten = false
    for (const [index, { table, before, now }] of changes.entries()) {
      if (table !== payments || !now) continue
      const row = now as PaymentRow
      if (!before) this.#lastNo = numbers[index] ?? this.#lastNo
      if (row.status === 'open') {
        if (!before) this.#add(row)
      } else if (!forget(this.#young, row)) forget(this.#old, row)
    }
    if (this.#mark !== this.#oldUpTo || this.#lastNo - this.#oldUpTo < this.#generationSize) return
    this.#old = this.#young
    this.#young = new Map()
    this.#oldUpTo = this.#lastNo
  }

  #add(row: PaymentRow): void {
    const key = groupKey(row)
    const group = this.#young.get(key)
    if (group) group.set(row.nonce, row)
    else this.#young.set(key, new Map([[row.nonce, row]]))
  }
}

const indexColumns = ['accountId', 'mandateId', 'epoch', 'expiresAtMs', 'nonce']

type Scope = Pick<PaymentRow, 'accountId' | 'mandateId' | 'epoch'>

function forget(groups: Map<string, Group>, row: PaymentRow): boolean {
  const key = groupKey(row)
  const group = groups.get(key)
  if (!group?.delete(row.nonce)) return false
  if (group.size === 0) groups.delete(key)
  return true
}

function groupKey({ accountId, mandateId }: Pick<Scope, 'accountId' | 'mandateId'>): string {
  return `${accountId}\0${mandateId}`
}

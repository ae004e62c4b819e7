import type { ReadAnswer } from './driver.ts'
import { readText, type Change, type Facts, type RangeRead, type Read } from './operation.ts'
import { keyText, type Table, type TableKey, type TableRow } from './table.ts'

type Row = Readonly<Record<string, unknown>>

interface Place {
  readonly table: Table
  /** As the database has it; undefined when it has none. */
  readonly before: Row | undefined
  /** As the operations of the batch leave it. */
  now: Row | undefined
}

/** What a batch has read, and what its operations have changed so far. */
export class BatchFacts implements Facts {
  readonly isRerun: boolean
  readonly #places = new Map<string, Place>()
  readonly #ranges = new Map<string, readonly string[]>()
  /** The names of rows that the batch adds, by table. */
  readonly #added = new Map<string, string[]>()

  constructor({ isRerun }: { readonly isRerun: boolean }) {
    this.isRerun = isRerun
  }

  /** Takes in what a driver has found for all that was asked for, and forgets what operations have changed. */
  learn(reads: readonly Read[], { found, blocked }: ReadAnswer): void {
    // Calls that were decided on what was read before are decided anew, and may write other rows.
    this.#places.clear()
    this.#ranges.clear()
    this.#added.clear()
    for (const [index, read] of reads.entries()) {
      if (blocked.has(read)) continue
      const rows = found[index] ?? []
      if (read.kind === 'row') {
        this.#places.set(readText(read), { table: read.table, before: rows[0], now: rows[0] })
        continue
      }
      const names: string[] = []
      for (const row of rows) {
        const name = nameOf(read.table, row)
        names.push(name)
        this.#places.set(name, { table: read.table, before: row, now: row })
      }
      this.#ranges.set(readText(read), names)
    }
  }

  knows(read: Read): boolean {
    return read.kind === 'row' ? this.#places.has(readText(read)) : this.#ranges.has(readText(read))
  }

  row<Of extends Table>(table: Of, key: TableKey<Of>): TableRow<Of> | undefined {
    const place = this.#places.get(nameOf(table, key))
    if (!place) throw new Error(`${table.name} ${JSON.stringify(key)} was not asked for`)
    return place.now as TableRow<Of> | undefined
  }

  rows<Of extends Table>(_table: Of, range: RangeRead): readonly TableRow<Of>[] {
    const names = this.#ranges.get(readText(range))
    if (!names) throw new Error(`a range of ${range.table.name} was not asked for`)
    const added = (this.#added.get(range.table.name) ?? []).filter((name) => {
      const place = this.#places.get(name)
      return place?.before === undefined && place?.now !== undefined && isWithin(range, place.now)
    })
    const rows: Row[] = []
    for (const name of new Set([...names, ...added])) {
      const row = this.#places.get(name)?.now
      if (row && isWithin(range, row)) rows.push(row)
    }
    // What the batch adds takes its place in the order, and may push others beyond the limit.
    if (added.length > 0) rows.sort((one, other) => compare(one[range.orderBy], other[range.orderBy]))
    return rows.slice(0, range.limit) as TableRow<Of>[]
  }

  /** Makes the changes of an operation visible to the next. */
  apply(changes: readonly Change[]): void {
    for (const { kind, table, row } of changes) {
      const name = nameOf(table, row)
      const place = this.#places.get(name) ?? { table, before: undefined, now: undefined }
      if (!place.before && !place.now) this.#noteAdded(table, name)
      place.now = kind === 'put' ? row : undefined
      this.#places.set(name, place)
    }
  }

  #noteAdded({ name: tableName }: Table, name: string): void {
    const names = this.#added.get(tableName)
    if (names) names.push(name)
    else this.#added.set(tableName, [name])
  }

  /** What the batch changes in all: each row once. */
  netChanges(): NetChange[] {
    return [...this.#places.values()].flatMap(({ table, before, now }) =>
      before === now ? [] : [{ table, before, now }],
    )
  }
}

/** A row that a batch adds (without `before`), removes (without `now`) or replaces. */
export interface NetChange {
  readonly table: Table
  readonly before: Row | undefined
  readonly now: Row | undefined
}

/** Whether a row is one of those that a range asks for. */
export function isWithin({ where, orderBy, after, upTo }: RangeRead, row: Row): boolean {
  const value = row[orderBy] as string | number
  return (
    Object.entries(where).every(([name, wanted]) => row[name] === wanted) &&
    (after === undefined || value > after) &&
    (upTo === undefined || value <= upTo)
  )
}

function compare(one: unknown, other: unknown): number {
  const [left, right] = [one as string | number, other as string | number]
  return left < right ? -1 : left > right ? 1 : 0
}

function nameOf(table: Table, key: Readonly<Record<string, unknown>>): string {
  return `${table.name}\0${keyText(table, key)}`
}

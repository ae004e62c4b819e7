import type { NetChange, ReadAnswer } from './driver.ts'
import { KeyMap } from './key-map.ts'
import { readText, type Change, type Facts, type RangeRead, type Read } from './operation.ts'
import type { Table, TableKey, TableRow } from './table.ts'

type Row = Readonly<Record<string, unknown>>

interface Place {
  readonly table: Table
  /** As the database has it; undefined when it has none. */
  before: Row | undefined
  /** As the operations of the batch leave it. */
  now: Row | undefined
}

/** What a batch has read, and what its operations have changed so far. */
export class BatchFacts implements Facts {
  readonly isRerun: boolean
  /** How often operations have looked at what was found, or at whether anything was. */
  looks = 0
  readonly #places = new KeyMap<Place>()
  readonly #all: Place[] = []
  readonly #ranges = new Map<string, readonly Place[]>()
  /** Places of rows that the batch adds. */
  readonly #added = new Map<Table, Place[]>()

  constructor({ isRerun }: { readonly isRerun: boolean }) {
    this.isRerun = isRerun
  }

  /** Takes in what a driver has found for all that was asked for, and forgets what operations have changed. */
  learn(reads: readonly Read[], { found, blocked }: ReadAnswer): void {
    // Calls that were decided on what was read before are decided anew, and may write other rows.
    this.#places.clear()
    this.#all.length = 0
    this.#ranges.clear()
    this.#added.clear()
    for (const [index, read] of reads.entries()) {
      if (blocked.has(read)) continue
      const rows = found[index] ?? []
      if (read.kind === 'row') this.#learnRow(read.table, read.key, rows[0])
      else {
        const places = rows.map((row) => this.#learnRow(read.table, row, row))
        this.#ranges.set(readText(read), places)
      }
    }
  }

  #learnRow(table: Table, key: Row, row: Row | undefined): Place {
    const known = this.#places.get(table, key)
    if (known) return Object.assign(known, { before: row, now: row })
    const place = { table, before: row, now: row }
    this.#places.set(table, key, place)
    this.#all.push(place)
    return place
  }

  knows(read: Read): boolean {
    this.looks += 1
    return read.kind === 'row'
      ? this.#places.get(read.table, read.key) !== undefined
      : this.#ranges.has(readText(read))
  }

  row<Of extends Table>(table: Of, key: TableKey<Of>): TableRow<Of> | undefined {
    this.looks += 1
    const place = this.#places.get(table, key)
    if (!place) throw new Error(`${table.name} ${JSON.stringify(key)} was not asked for`)
    return place.now as TableRow<Of> | undefined
  }

  rows<Of extends Table>(_table: Of, range: RangeRead): readonly TableRow<Of>[] {
    this.looks += 1
    const places = this.#ranges.get(readText(range))
    if (!places) throw new Error(`a range of ${range.table.name} was not asked for`)
    const added = (this.#added.get(range.table) ?? []).filter(
      ({ before, now }) => before === undefined && now !== undefined && isWithin(range, now),
    )
    const rows: Row[] = []
    for (const { now } of new Set([...places, ...added])) if (now && isWithin(range, now)) rows.push(now)
    // What the batch adds takes its place in the order, and may push others beyond the limit.
    if (added.length > 0) rows.sort((one, other) => compare(one[range.orderBy], other[range.orderBy]))
    return rows.slice(0, range.limit) as TableRow<Of>[]
  }

  /** Makes the changes of an operation visible to the next. */
  apply(changes: readonly Change[]): void {
    for (const { kind, table, row } of changes) {
      let place = this.#places.get(table, row)
      if (!place) {
        place = { table, before: undefined, now: undefined }
        this.#places.set(table, row, place)
        this.#all.push(place)
      }
      if (!place.before && !place.now) this.#noteAdded(place)
      place.now = kind === 'put' ? row : undefined
    }
  }

  #noteAdded(place: Place): void {
    const places = this.#added.get(place.table)
    if (places) places.push(place)
    else this.#added.set(place.table, [place])
  }

  /** What the batch changes in all: each row once. */
  netChanges(): NetChange[] {
    return this.#all.filter(({ before, now }) => before !== now)
  }
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

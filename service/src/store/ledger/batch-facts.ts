import { StaleRowsError, type NetChange, type ReadAnswer } from './driver.ts'
import { KeyMap } from './key-map.ts'
import {
  lock,
  look,
  readText,
  type Change,
  type Decision,
  type Facts,
  type Operation,
  type RangeRead,
  type Read,
  type RowRead,
} from './operation.ts'
import { sumRows, type Row, type Table, type TableKey, type TableRow } from './table.ts'

interface Place {
  readonly table: Table
  /** How it was requested; undefined if it was not. */
  read: RowRead | undefined
  /** Whether it was read or written. */
  isKnown: boolean
  /** The row in the database; undefined if there is none. */
  before: Row | undefined
  /** The row after the operations of the batch. */
  now: Row | undefined
}

/** The rows of a range; undefined until they are read. */
interface RangePlaces {
  readonly read: RangeRead
  found: readonly Place[] | undefined
}

/** What a batch requests, what was found, and what its operations have changed. */
export class BatchFacts implements Facts {
  readonly isRerun: boolean
  readonly #places = new KeyMap<Place>()
  readonly #ranges = new Map<string, RangePlaces>()
  #asked: (Place | RangePlaces)[] = []
  readonly #changed = new Set<Place>()
  #mayBeStale = false
  /** What the operation that is deciding has requested. */
  #requested: Read[] = []

  constructor({ isRerun }: { readonly isRerun: boolean }) {
    this.isRerun = isRerun
  }

  /** The requested reads, each once: with a lock if any request had one. */
  get reads(): Read[] {
    return this.#asked.map(({ read }) => read!)
  }

  /** Requests a read. */
  ask(read: Read): void {
    if (read.table.sums) throw new TypeError(`the sums of ${read.table.name} are only added to, never read`)
    if (read.kind === 'range') {
      const text = readText(read)
      if (this.#ranges.has(text)) return
      const range = { read, found: undefined }
      this.#ranges.set(text, range)
      this.#asked.push(range)
      return
    }
    const place = this.#placeOf(read.table, read.key)
    if (!place.read) this.#asked.push(place)
    else if (place.read.isLocked || !read.isLocked) return
    place.read = read
  }

  /** Stores what a driver has read, and discards the changes of operations. */
  learn({ found, blocked, mayBeStale = false }: ReadAnswer): void {
    this.#mayBeStale = mayBeStale
    const asked = this.#asked
    // Calls that used the earlier facts are decided again, and may write other rows.
    this.#forget()
    for (const [index, one] of asked.entries()) {
      const rows = found[index] ?? []
      if (blocked.has(one.read!)) continue
      if ('found' in one) one.found = rows.map((row) => learnRow(this.#placeOf(one.read.table, row), row))
      else learnRow(one, rows[0])
    }
    if (blocked.size === 0) return
    this.#asked = asked.filter(({ read }) => !blocked.has(read!))
    for (const read of blocked) {
      if (read.kind === 'row') this.#placeOf(read.table, read.key).read = undefined
      else this.#ranges.delete(readText(read))
    }
  }

  /** Everything except the requests. A place that is not known counts as none. */
  #forget(): void {
    for (const one of this.#asked) {
      if ('found' in one) one.found?.forEach(forgetRow)
      else forgetRow(one)
    }
    this.#changed.forEach(forgetRow)
    this.#changed.clear()
  }

  #placeOf(table: Table, key: Row): Place {
    let place = this.#places.get(table, key)
    if (!place) {
      place = { table, read: undefined, isKnown: false, before: undefined, now: undefined }
      this.#places.set(table, key, place)
    }
    return place
  }

  /** Undefined if the operation uses rows that have not been read: `requested` then names them. */
  decide<Call, Outcome>({ decide }: Operation<Call, Outcome>, call: Call): Decision<Outcome> | undefined {
    if (this.#requested.length > 0) this.#requested = []
    try {
      return decide(call, this)
    } catch (error) {
      if (error === unread) return undefined
      // Cached rows may be from different times and contradict each other.
      throw this.#mayBeStale
        ? new StaleRowsError('a decision on cached rows failed', { cause: error })
        : error
    }
  }

  /** What the last operation has requested in its decision. */
  get requested(): readonly Read[] {
    return this.#requested
  }

  read(reads: readonly Read[]): void {
    for (const read of reads) this.#requested.push(read)
    if (!reads.every((read) => this.#has(read))) throw unread
  }

  each<Item>(items: readonly Item[], work: (item: Item) => void): void {
    let isMissing = false
    for (const item of items) {
      try {
        work(item)
      } catch (error) {
        if (error !== unread) throw error
        isMissing = true
      }
    }
    if (isMissing) throw unread
  }

  #stopFor(read: Read): never {
    this.#requested.push(read)
    throw unread
  }

  #has(read: Read): boolean {
    if (read.kind === 'range') return this.#ranges.get(readText(read))?.found !== undefined
    const place = this.#places.get(read.table, read.key)
    return place?.isKnown === true && (!read.isLocked || place.read?.isLocked === true)
  }

  row<Of extends Table>(table: Of, key: TableKey<Of>): TableRow<Of> | undefined {
    const place = this.#places.get(table, key)
    if (!place?.isKnown) return this.#stopFor(look(table, key))
    return place.now as TableRow<Of> | undefined
  }

  written<Of extends Table>(table: Of, key: TableKey<Of>): TableRow<Of> | undefined {
    return this.isRerun ? this.row(table, key) : undefined
  }

  lockedRow<Of extends Table>(table: Of, key: TableKey<Of>): TableRow<Of> | undefined {
    this.read([lock(table, key)])
    return this.row(table, key)
  }

  rows<Of extends Table>(range: RangeRead<Of>): readonly TableRow<Of>[] {
    const places = this.#placesIn(range)
    const added = [...this.#changed].filter(({ table, before }) => table === range.table && !before)
    const found = [...new Set([...places, ...added])]
    const rows = found.flatMap(({ now }) => (now && isWithin(range, now) ? [now] : []))
    // Rows that the batch adds are sorted in, and may push others beyond the limit.
    if (added.length > 0) rows.sort((one, other) => compare(one[range.orderBy], other[range.orderBy]))
    return rows.slice(0, range.limit) as TableRow<Of>[]
  }

  /** The places of a range. If the batch has removed some of its first rows, as many more are read. */
  #placesIn(range: RangeRead, removed = 0): readonly Place[] {
    const read = removed === 0 ? range : { ...range, limit: range.limit + removed }
    const places = this.#ranges.get(readText(read))?.found ?? this.#stopFor(read)
    const gone = places.filter(({ now }) => !now).length
    // Others may follow in the database.
    return places.length === read.limit && gone > removed ? this.#placesIn(range, gone) : places
  }

  /** Makes the changes of an operation visible to the next. */
  apply(changes: readonly Change[]): void {
    for (const { kind, table, row } of changes) {
      const place = this.#placeOf(table, row)
      this.#changed.add(place)
      place.isKnown = true
      if (kind === 'remove') place.now = undefined
      else place.now = kind === 'add' && place.now ? sumRows(table, place.now, row) : row
    }
  }

  /** The net changes of the batch: each row once. */
  netChanges(): NetChange[] {
    return [...this.#changed].filter(({ before, now }) => before !== now)
  }
}

/** Ends a decision that uses rows that have not been read. Made once, because many calls of a batch may throw it. */
const unread = new Error('a row has not been read')

function forgetRow(place: Place): void {
  place.isKnown = false
  place.before = undefined
  place.now = undefined
}

function learnRow(place: Place, row: Row | undefined): Place {
  place.isKnown = true
  place.before = row
  place.now = row
  return place
}

/** Whether a row is in a requested range. */
export function isWithin({ where, orderBy, after, upTo }: RangeRead, row: Row): boolean {
  const value = row[orderBy] as string | number
  if ((after !== undefined && value <= after) || (upTo !== undefined && value > upTo)) return false
  return Object.keys(where).every((name) => row[name] === where[name])
}

/** The order of two values of a column. */
export function compare(one: unknown, other: unknown): number {
  const [left, right] = [one as string | number, other as string | number]
  return left < right ? -1 : left > right ? 1 : 0
}

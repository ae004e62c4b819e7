import { compare, isWithin } from '../../src/store/ledger/batch-facts.ts'
import {
  RolledBackError,
  RowExistsError,
  type Driver,
  type DriverTransaction,
  type NetChange,
  type ReadAnswer,
  type ReadOptions,
} from '../../src/store/ledger/driver.ts'
import { KeyMap } from '../../src/store/ledger/key-map.ts'
import type { RangeRead, Read, RowRead } from '../../src/store/ledger/operation.ts'
import { indexOf, keyText, sumRows, type Row, type Table } from '../../src/store/ledger/table.ts'
import { mandates } from '../../src/store/ledger/tables.ts'

/** A key, with its row, if there is one, and its lock. */
interface Place {
  row: Row | undefined
  owner: MemorySession | undefined
  /** The sessions that wait for the lock, in order of arrival. */
  readonly waiting: { readonly session: MemorySession; readonly wake: () => void }[]
}

/**
 * A driver that keeps the ledger in memory, with row locks and transactions like PostgreSQL's at `read committed`: each read of a transaction
 * sees what was committed before it, and its writes become visible on commit.
 */
export class MemoryDatabase implements Driver {
  readonly #places = new KeyMap<Place>()
  /** The places with a row of a table, in the order in which the rows were added. */
  readonly #filled = new Map<Table, Set<Place>>()

  begin(): MemorySession {
    return new MemorySession(this)
  }

  rowsOf(table: Table): readonly Row[] {
    return Array.from(this.#filledOf(table), ({ row }) => row!)
  }

  find(read: Read): readonly Row[] {
    if (read.kind === 'range') return this.#findRange(read).map(({ row }) => row!)
    const row = this.row(read.table, read.key)
    return row ? [row] : []
  }

  /** The row with a key, as last committed. */
  row(table: Table, key: Row): Row | undefined {
    return this.#places.get(table, key)?.row
  }

  /** The places of a read: that of its row, if there is one, or those of the rows in its range, in the order of their keys. */
  placesOf(read: Read): Place[] {
    if (read.kind === 'row') return [this.#placeOf(read.table, read.key)].filter(({ row }) => row)
    const textOf = ({ row }: Place) => keyText(read.table, row!)
    return this.#findRange(read).sort((one, other) => compare(textOf(one), textOf(other)))
  }

  /** Who has locked the row with a key. */
  ownerOf(table: Table, key: Row): MemorySession | undefined {
    return this.#places.get(table, key)?.owner
  }

  /** Writes the changes of a transaction atomically. */
  write(changes: readonly NetChange[]): void {
    const places = changes.map(({ table, before, now }) => {
      const place = this.#placeOf(table, (now ?? before)!)
      if (!before && place.row && !table.sums) throw new RowExistsError(`${table.name} has the row already`)
      return place
    })
    for (let index = 0; index < changes.length; index++) {
      const { table, before, now } = changes[index]!
      const place = places[index]!
      const { row } = place
      place.row = row && now && !before ? sumRows(table, row, now) : now
      if (row && now) continue
      if (now) this.#filledOf(table).add(place)
      else this.#filledOf(table).delete(place)
    }
  }

  /**
   * Locks a place for a session: true if the session has the lock, and false if another session has it. With `waits`,
   * a promise of the lock instead of false.
   */
  lock(
    session: MemorySession,
    place: Place,
    { waits }: { readonly waits: boolean },
  ): Promise<void> | boolean {
    if (place.owner === session) return true
    if (!place.owner) {
      place.owner = session
      session.locked.push(place)
      return true
    }
    if (!waits) return false
    if (wouldDeadlock(session, place.owner)) {
      return Promise.reject(new RolledBackError('two transactions wait for each other'))
    }
    return new Promise((wake) => {
      session.waitsFor = place
      place.waiting.push({ session, wake })
    })
  }

  unlock(session: MemorySession): void {
    const waiting = session.waitsFor?.waiting ?? []
    const index = waiting.findIndex((one) => one.session === session)
    if (index >= 0) waiting.splice(index, 1)
    for (const place of session.locked.splice(0)) {
      const next = place.waiting.shift()
      place.owner = next?.session
      if (!next) continue
      next.session.waitsFor = undefined
      next.session.locked.push(place)
      next.wake()
    }
  }

  #findRange(range: RangeRead): Place[] {
    const { table, where, orderBy, limit } = range
    indexOf(table, Object.keys(where), orderBy)
    const found: Place[] = []
    for (const place of this.#filledOf(table)) if (isWithin(range, place.row!)) found.push(place)
    return found.sort((left, right) => compare(left.row![orderBy], right.row![orderBy])).slice(0, limit)
  }

  #filledOf(table: Table): Set<Place> {
    const filled = this.#filled.get(table) ?? new Set()
    this.#filled.set(table, filled)
    return filled
  }

  #placeOf(table: Table, key: Row): Place {
    const known = this.#places.get(table, key)
    if (known) return known
    const place = { row: undefined, owner: undefined, waiting: [] }
    this.#places.set(table, key, place)
    return place
  }
}

/** A connection, with its open transaction. */
export class MemorySession implements DriverTransaction {
  readonly #database: MemoryDatabase
  #isOver = false
  /** The places that it has locked. */
  readonly locked: Place[] = []
  /** The place whose lock it waits for. */
  waitsFor: Place | undefined
  /** The rows that were read without a lock. */
  readonly #looked = new Map<RowRead, Row | undefined>()

  constructor(database: MemoryDatabase) {
    this.#database = database
  }

  async read(reads: readonly Read[], { waitsForLocks }: ReadOptions): Promise<ReadAnswer> {
    const blocked = new Set<Read>()
    const toLock = reads.filter(({ isLocked }) => isLocked)
    for (const read of toLock.sort((left, right) => left.table.lockOrder - right.table.lockOrder)) {
      for (const place of this.#database.placesOf(read)) {
        const locking = this.#database.lock(this, place, { waits: waitsForLocks })
        if (locking === false) blocked.add(read)
        else if (locking !== true) await locking
        if (this.#isOver) throw new RolledBackError('the connection has ended')
      }
    }
    const found = reads.map((read) => {
      const rows = blocked.has(read) ? [] : this.#find(read)
      // A missing row cannot be locked: this one was added while other locks were waited for.
      const isAdded = read.kind === 'row' && read.isLocked && rows[0] && !this.#isOwn(read.table, rows[0])
      if (isAdded) {
        blocked.add(read)
        return []
      }
      if (read.kind === 'row' && !read.isLocked && read.table.isRechecked) this.#looked.set(read, rows[0])
      return rows
    })
    return { found, blocked }
  }

  /** Rows that were added to a locked range while this session waited for a lock are not locked: they are left out. */
  #find(read: Read): readonly Row[] {
    const rows = this.#database.find(read)
    if (read.kind === 'row' || !read.isLocked) return rows
    return rows.filter((row) => this.#isOwn(read.table, row))
  }

  commit(changes: readonly NetChange[]): void {
    try {
      this.prepare(changes)
      this.#database.write(changes)
    } finally {
      this.rollBack()
    }
  }

  /** What a server checks before it receives the commit. */
  prepare(changes: readonly NetChange[]): void {
    if (this.#isOver) throw new RolledBackError('the connection has ended')
    for (const [read, row] of this.#looked) {
      if (this.#database.row(read.table, read.key) !== row) throw new RolledBackError('a row has changed')
    }
    for (const { table, before } of changes) {
      if (before && !this.#guards(table, before))
        throw new Error(`a row of ${table.name} changes without a lock`)
    }
  }

  /** Whether no other session can change a row: it is locked, or the mandate that it belongs to. */
  #guards(table: Table, row: Row): boolean {
    if (this.#isOwn(table, row)) return true
    const { accountId, mandateId } = row as { readonly accountId?: string; readonly mandateId?: string }
    if (accountId === undefined || mandateId === undefined) return false
    return this.#isOwn(mandates, { accountId, id: mandateId })
  }

  #isOwn(table: Table, key: Row): boolean {
    return this.#database.ownerOf(table, key) === this
  }

  rollBack(): void {
    this.#isOver = true
    this.#database.unlock(this)
  }
}

function wouldDeadlock(session: MemorySession, owner: MemorySession): boolean {
  let blocking: MemorySession | undefined = owner
  while (blocking?.waitsFor) {
    blocking = blocking.waitsFor.owner
    if (blocking === session) return true
  }
  return false
}

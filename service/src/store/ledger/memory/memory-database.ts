import { isWithin } from '../batch-facts.ts'
import type { NetChange } from '../driver.ts'
import { RolledBackError, RowExistsError, type ReadAnswer } from '../driver.ts'
import type { RangeRead, Read, RowRead } from '../operation.ts'
import { indexOf, keyText, type Table } from '../table.ts'

type Row = Readonly<Record<string, unknown>>

interface LockedRow {
  owner: MemorySession
  /** Waiters, first come, first served. */
  readonly waiting: { readonly session: MemorySession; readonly wake: () => void }[]
}

/**
 * Tables in memory, with row locks and transactions like PostgreSQL's at `read committed`: each read of a transaction
 * sees what was committed before it, and its writes become visible on commit.
 */
export class MemoryDatabase {
  readonly #tables = new Map<string, Map<string, Row>>()
  /** For each table and indexed columns: the keys of the rows by value. */
  readonly #indexes = new Map<string, Map<string, Map<string, Set<string>>>>()
  readonly #locks = new Map<string, LockedRow>()

  begin(): MemorySession {
    return new MemorySession(this)
  }

  rowsOf(table: Table): readonly Row[] {
    return [...this.#tableOf(table).values()]
  }

  find(read: Read): readonly Row[] {
    if (read.kind === 'range') return this.#findRange(read)
    const row = this.#tableOf(read.table).get(keyText(read.table, read.key))
    return row ? [row] : []
  }

  /** Writes the changes of a transaction atomically. */
  write(changes: readonly NetChange[]): void {
    for (const { table, before, now } of changes) {
      const isThere = now !== undefined && this.#tableOf(table).has(keyText(table, now))
      if (!before && isThere) throw new RowExistsError(`${table.name} has the row already`)
    }
    for (const { table, before, now } of changes) {
      const rows = this.#tableOf(table)
      const row = now ?? before
      if (!row) continue
      const key = keyText(table, row)
      if (now) rows.set(key, now)
      else rows.delete(key)
      if (!before || !now) this.#updateIndexes(table, key, row, Boolean(now))
    }
  }

  /** Locks a row for a session; resolves when it has the lock. Undefined, at once, if another session has it. */
  lock(
    session: MemorySession,
    name: string,
    { waits }: { readonly waits: boolean },
  ): Promise<void> | undefined {
    const locked = this.#locks.get(name)
    if (!locked) this.#locks.set(name, { owner: session, waiting: [] })
    if (!locked || locked.owner === session) return Promise.resolve()
    if (!waits) return undefined
    if (this.#wouldDeadlock(session, locked.owner)) {
      return Promise.reject(new RolledBackError('two transactions wait for each other'))
    }
    return new Promise((wake) => {
      session.waitsFor = name
      locked.waiting.push({ session, wake })
    })
  }

  unlock(session: MemorySession): void {
    for (const [name, locked] of this.#locks) {
      const index = locked.waiting.findIndex((one) => one.session === session)
      if (index >= 0) locked.waiting.splice(index, 1)
      if (locked.owner !== session) continue
      const next = locked.waiting.shift()
      if (!next) this.#locks.delete(name)
      else {
        locked.owner = next.session
        next.session.waitsFor = undefined
        next.wake()
      }
    }
  }

  #wouldDeadlock(session: MemorySession, owner: MemorySession): boolean {
    let blocking: MemorySession | undefined = owner
    while (blocking?.waitsFor !== undefined) {
      blocking = this.#locks.get(blocking.waitsFor)?.owner
      if (blocking === session) return true
    }
    return false
  }

  #findRange(range: RangeRead): readonly Row[] {
    const rows = this.#tableOf(range.table)
    const found: Row[] = []
    for (const key of this.#keysOf(range)) {
      const row = rows.get(key)
      if (row && isWithin(range, row)) found.push(row)
    }
    return found
      .sort((left, right) => compare(left[range.orderBy], right[range.orderBy]))
      .slice(0, range.limit)
  }

  /** The keys of the rows in a range, from an index created on first use. */
  #keysOf({ table, where, orderBy }: RangeRead): ReadonlySet<string> {
    const columns = Object.keys(where)
    indexOf(table, columns, orderBy)
    const ofTable = this.#indexes.get(table.name) ?? new Map<string, Map<string, Set<string>>>()
    this.#indexes.set(table.name, ofTable)
    const name = columns.join()
    if (!ofTable.has(name)) {
      ofTable.set(name, new Map())
      for (const [key, row] of this.#tableOf(table)) this.#updateIndexes(table, key, row, true)
    }
    return ofTable.get(name)?.get(valuesText(columns, where)) ?? new Set()
  }

  #updateIndexes(table: Table, key: string, row: Row, isThere: boolean): void {
    for (const [name, index] of this.#indexes.get(table.name) ?? []) {
      const values = valuesText(name.split(','), row)
      const keys = index.get(values) ?? new Set()
      index.set(values, keys)
      if (isThere) keys.add(key)
      else keys.delete(key)
    }
  }

  #tableOf({ name }: Table): Map<string, Row> {
    const known = this.#tables.get(name)
    if (known) return known
    const rows = new Map<string, Row>()
    this.#tables.set(name, rows)
    return rows
  }
}

/** A connection, with its open transaction. */
export class MemorySession {
  readonly #database: MemoryDatabase
  #isOver = false
  /** The row whose lock it waits for. */
  waitsFor: string | undefined
  /** The rows that were read without a lock. */
  readonly #looked = new Map<RowRead, Row | undefined>()

  constructor(database: MemoryDatabase) {
    this.#database = database
  }

  async read(
    reads: readonly Read[],
    { waitsForLocks }: { readonly waitsForLocks: boolean },
  ): Promise<ReadAnswer> {
    const blocked = new Set<Read>()
    const toLock = reads.filter(({ isLocked }) => isLocked)
    for (const read of toLock.toSorted((left, right) => left.table.lockOrder - right.table.lockOrder)) {
      for (const name of this.#namesOf(read)) {
        const locking = this.#database.lock(this, name, { waits: waitsForLocks })
        if (locking) await locking
        else blocked.add(read)
        if (this.#isOver) throw new RolledBackError('the connection has ended')
      }
    }
    const found = reads.map((read) => (blocked.has(read) ? [] : this.#database.find(read)))
    for (const [index, read] of reads.entries()) {
      if (read.kind === 'row' && !read.isLocked && read.table.isRechecked)
        this.#looked.set(read, found[index]?.[0])
    }
    return { found, blocked }
  }

  commit(changes: readonly NetChange[]): void {
    if (this.#isOver) throw new RolledBackError('the connection has ended')
    try {
      for (const [read, row] of this.#looked) {
        if (this.#database.find(read)[0] !== row) throw new RolledBackError('a row has changed')
      }
      this.#database.write(changes)
    } finally {
      this.end()
    }
  }

  /** Ends the transaction; rolls back what was not committed. */
  end(): void {
    this.#isOver = true
    this.#database.unlock(this)
  }

  #namesOf(read: Read): string[] {
    const rows = read.kind === 'row' ? [read.key] : this.#database.find(read)
    return rows.map((row) => `${read.table.name}\0${keyText(read.table, row)}`).sort()
  }
}

function compare(left: unknown, right: unknown): number {
  const [one, other] = [left as string | number, right as string | number]
  return one < other ? -1 : one > other ? 1 : 0
}

function valuesText(columns: readonly string[], row: Row): string {
  return columns.map((name) => String(row[name])).join('\0')
}

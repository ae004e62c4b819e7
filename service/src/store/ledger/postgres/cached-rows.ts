import { DatabaseError } from 'pg'

import { RolledBackError, type DriverTransaction, type NetChange } from '../driver.ts'
import type { Read, RowRead } from '../operation.ts'
import { RowCache } from '../row-cache.ts'
import type { Table } from '../table.ts'
import { payments } from '../tables.ts'
import { rowChanged } from './errors.ts'
import type { Answer, Statement } from './round-trip.ts'
import type { ServerTransaction } from './server-transaction.ts'
import { canFind, checkRows, isReal, readRows, writeStatements, type RowVersion } from './statements.ts'

type Row = Readonly<Record<string, unknown>>

/** A row as this process last read or wrote it. */
interface CachedRow {
  /** Undefined if there was none. */
  readonly row: Row | undefined
  /** The transaction that wrote it. */
  readonly version: string | null
  /** Whether a transaction of this process may be writing it. */
  isBusy: boolean
  /** How often it must be read unchanged before it is used again, because other processes write it too. */
  waits: number
  readonly penalty: number
}

/**
 * The rows that this process last read or wrote. A transaction can decide on them without asking the server: the round trip
 * that writes and commits also locks them, and fails unless each still has the cached version. So every decision is
 * checked by the transaction that commits it.
 */
export class CachedRows {
  #rows = new RowCache<CachedRow>()
  /**
   * Tables that were read, and payments, which are captured soon after they are added: rows of other tables
   * are not cached.
   */
  readonly #read = new Set<Table>([payments])
  /** The server's start time, which identifies it: another server numbers its transactions differently. */
  server: string | undefined

  /** Clears the cache if the server is a different one. */
  meet(server: string | undefined): void {
    if (server !== undefined && server !== this.server) this.clear()
    this.server = server ?? this.server
  }

  clear(): void {
    this.#rows = new RowCache()
  }

  /** The requested rows, if all of them are cached and usable. */
  find(reads: readonly Read[]): readonly CachedRow[] | undefined {
    const found: CachedRow[] = []
    for (const read of reads) {
      const cached = read.kind === 'row' ? this.#rows.get(read.table, read.key) : undefined
      if (!cached || cached.isBusy || cached.waits > 0) return undefined
      found.push(cached)
    }
    return found
  }

  /** Caches what was read by key; undefined for a missing row. */
  learn({ table, key }: RowRead, row: Row | undefined, version: string | null): void {
    this.#read.add(table)
    this.#set(table, key, row, version)
  }

  /** Marks rows that are being written: they are not used. */
  begin(changes: readonly NetChange[]): void {
    for (const { table, before } of changes) {
      const cached = before && this.#rows.get(table, before)
      if (cached) cached.isBusy = true
    }
  }

  /** Caches what was committed, using the last answers of the transaction. */
  end(changes: readonly NetChange[], answers: readonly Answer[]): void {
    const version = answers.at(-2)?.rows[0] as string | undefined
    if (version === undefined) return
    for (const { table, before, now } of changes) {
      if (now && this.#read.has(table)) this.#set(table, now, now, version, true)
      else if (before) this.#rows.forget(table, before)
    }
  }

  #set(table: Table, key: Row, row: Row | undefined, version: string | null, isOwn = false): void {
    const before = this.#rows.get(table, key)
    let { waits, penalty } = before ?? { waits: 0, penalty: 0 }
    if (before && !isOwn && before.version !== version) {
      penalty = Math.min(penalty * 2 + 1, maxPenalty)
      waits = penalty
    } else if (waits > 0) waits -= 1
    else penalty >>= 1
    this.#rows.set(table, key, { row, version, isBusy: false, waits, penalty })
  }
}

const maxPenalty = 255

interface CachedRun {
  readonly cache: CachedRows
  readonly server: ServerTransaction
  /** Locks and reads rows that are not cached. */
  readonly locking: DriverTransaction
}

/**
 * Runs work on cached rows; again, with the locking transaction, if they were stale or locked and nothing was
 * committed.
 */
export async function runOnCachedRows<Result>(
  work: (transaction: DriverTransaction) => Promise<Result>,
  { cache, server, locking }: CachedRun,
): Promise<Result> {
  const transaction = new CachedTransaction({ cache, server, locking })
  let failure: unknown
  try {
    const result = await work(transaction)
    if (!transaction.usesCache || server.isCommitted) return result
  } catch (error) {
    if (!transaction.usesCache || !isStale(error, server)) throw error
    failure = error
  }
  if (!(await server.rollBack())) throw new RolledBackError('a row has changed', { cause: failure })
  return work(locking)
}

/**
 * A transaction that decides on cached rows and checks them as it commits: rows that were to be locked are
 * checked when they are written or locked, the others last.
 */
class CachedTransaction implements DriverTransaction {
  readonly #run: CachedRun
  #reads: readonly RowRead[] = []
  #found: readonly CachedRow[] = []
  #isLocking = false
  usesCache = false

  constructor(run: CachedRun) {
    this.#run = run
  }

  readonly read: DriverTransaction['read'] = async (reads, options) => {
    // A list that has grown is looked up anew, and what was found before is dropped. Once rows are locked, all are read.
    const valid = reads.filter(canFind)
    const cached = this.#isLocking ? undefined : this.#run.cache.find(valid)
    this.#isLocking = cached === undefined
    this.usesCache = cached !== undefined
    if (!cached) return this.#run.locking.read(reads, options)
    this.#reads = valid as readonly RowRead[]
    this.#found = cached
    const rows = new Map(valid.map((read, index) => [read, cached[index]!.row]))
    const found = reads.map((read) => {
      const row = rows.get(read)
      return row ? [row] : []
    })
    return { found, blocked: new Set() }
  }

  readonly commit: DriverTransaction['commit'] = async (changes) => {
    const { cache, server, locking } = this.#run
    if (!this.usesCache) return locking.commit(changes)
    const real = changes.filter(isReal)
    const changed = new Set(real.flatMap(({ before }) => before ?? []))
    const others = this.#reads.flatMap((read, index) => {
      const { row, version } = this.#found[index]!
      return row && changed.has(row) ? [] : [{ read, table: read.table, key: read.key, version }]
    })
    const locked = others.filter(({ read, version }) => read.isLocked && version !== null)
    const unlocked = others.filter(({ read, version }) => !read.isLocked || version === null)
    const versions = new Map(this.#found.flatMap(({ row, version }) => (row ? [[row, version]] : [])))
    cache.begin(real)
    const statements = [
      ...lockUnchanged(locked),
      ...writeStatements(real, { versions }),
      ...checkRows(unlocked, real),
    ]
    const answers = await server.commit(statements, {
      lockLimitMs: cachedLockLimitMs,
      serverStart: cache.server,
    })
    cache.end(real, answers)
  }
}

/** Locks rows that are not written, and checks them while they are locked. */
function lockUnchanged(rows: readonly (RowVersion & { readonly read: RowRead })[]): Statement[] {
  if (rows.length === 0) return []
  const byTable = Map.groupBy(rows, ({ table }) => table)
  const inOrder = [...byTable].sort(([one], [other]) => one.lockOrder - other.lockOrder)
  const locks = inOrder.map(([, same]) =>
    readRows([same.map(({ read }) => read)], { lock: 'wait', isDistributed: false }),
  )
  return [...locks, ...checkRows(rows, [])]
}

/** How long a transaction on cached rows waits for a lock, before it runs again in two round trips, which skip locked rows. */
const cachedLockLimitMs = 20

/** Whether a cached row was stale, so that a write could also break a constraint, or locked. */
function isStale(error: unknown, server: ServerTransaction): boolean {
  return (
    server.isFailure(error) &&
    error instanceof DatabaseError &&
    (error.code === rowChanged || /^(22012|23...|55P03|40P01|40001)$/.test(error.code ?? ''))
  )
}

import type { Pool, PoolClient } from 'pg'

import {
  RolledBackError,
  type Driver,
  type DriverTransaction,
  type NetChange,
  type ReadAnswer,
  type ReadOptions,
  type TransactionOptions,
} from '../driver.ts'
import type { Read, RowRead } from '../operation.ts'
import { keyText } from '../table.ts'
import { CachedRows, type CachedRead } from './cached-rows.ts'
import type { ShardOfAccount } from './distribution.ts'
import { breaksConnection, explainFailure } from './errors.ts'
import { beginWith, type BeginOptions } from './local-settings.ts'
import { rollBack, roundTrip, type Answer, type Statement } from './round-trip.ts'
import {
  canFind,
  checkRows,
  isReal,
  readRows,
  shapeOf,
  valuesOf,
  writeStatements,
  type FoundRow,
  type RowVersion,
  type ShardOf,
} from './statements.ts'

/**
 * A driver that keeps the ledger in PostgreSQL. A transaction takes two round trips: one locks and then reads, the other
 * writes and commits. If every row is cached it takes one, which also checks the rows. Leaves no state on a connection, since
 * a pooler may share it between transactions.
 */
export function createPostgresDriver(pool: Pool, shardOfAccount?: ShardOfAccount): Driver {
  // The versions of a row on two machines cannot be compared, and a row may be moved.
  const cache = shardOfAccount ? undefined : new CachedRows()
  const shardOf: ShardOf | undefined =
    shardOfAccount &&
    (({ key }, row) => (key[0] === 'accountId' ? shardOfAccount(row['accountId'] as string) : undefined))
  return { begin: (options = {}) => new PostgresTransaction(pool, { cache, shardOf, ...options }) }
}

interface PostgresOptions extends TransactionOptions {
  readonly cache: CachedRows | undefined
  readonly shardOf: ShardOf | undefined
}

/**
 * Decides on cached rows and checks them as it commits, or locks and reads its rows. Once it has locked some, it reads all.
 * Takes a connection for its first statements.
 */
class PostgresTransaction implements DriverTransaction {
  readonly #pool: Pool
  readonly #cache: CachedRows | undefined
  readonly #shardOf: ShardOf | undefined
  readonly #limitMs: number
  #mayUseCache: boolean
  /** What was found in the cache; undefined if rows were read. */
  #cached: readonly CachedRead[] | undefined
  /** Rows that were read without a lock, and must be unchanged at the commit. */
  #unlocked: readonly RowVersion[] = []
  #client: PoolClient | undefined
  #guard: NodeJS.Timeout | undefined
  /** When the server started. */
  #serverStart: string | undefined

  constructor(pool: Pool, options: PostgresOptions) {
    this.#pool = pool
    this.#cache = options.cache
    this.#shardOf = options.shardOf
    this.#limitMs = Math.max(minLimitMs, Math.ceil(options.patienceMs ?? defaultPatienceMs))
    this.#mayUseCache = !options.avoidsCache
  }

  get #isDistributed(): boolean {
    return this.#shardOf !== undefined
  }

  async read(reads: readonly Read[], options: ReadOptions): Promise<ReadAnswer> {
    // A read by an invalid id finds nothing.
    const valid = reads.filter(canFind)
    // A list that has grown is looked up again, and earlier results are dropped.
    this.#cached = this.#mayUseCache ? this.#cache?.find(valid) : undefined
    this.#mayUseCache = this.#cached !== undefined
    return this.#cached ? rowsFor(reads, this.#cached) : this.#lockAndRead(reads, valid, options)
  }

  async commit(changes: readonly NetChange[]): Promise<void> {
    const real = changes.filter(isReal)
    const cached = this.#cached
    const statements = cached ? this.#writeAndCheck(real, cached) : this.#write(real)
    const begin = cached
      ? { lockLimitMs: cachedLockLimitMs, serverStart: this.#cache?.server }
      : { lockLimitMs, isDistributed: this.#isDistributed }
    // Not prepared, so that the fault harness finds the word on the wire.
    const answers = await this.#send([...statements, { text: 'commit' }], { ...begin, isCommitSent: true })
    // The server answers ROLLBACK if the transaction had already failed.
    if (answers.at(-1)?.command !== 'COMMIT') throw new RolledBackError('the server has rolled back')
    this.#release({ isBroken: false })
    this.#cache?.end(real, answers)
  }

  async rollBack(): Promise<void> {
    if (!this.#client) return
    this.#release({ isBroken: !(await rollBack(this.#client)) })
  }

  /** The answers to statements, sent in one round trip. */
  async #send(
    statements: readonly Statement[],
    { isCommitSent = false, ...options }: Omit<BeginOptions, 'limitMs'> & { readonly isCommitSent?: boolean },
  ): Promise<Answer[]> {
    const begin = this.#client ? [] : beginWith({ ...options, limitMs: this.#limitMs })
    const client = (this.#client ??= await this.#connect())
    try {
      const answers = await roundTrip(client, [...begin, ...statements])
      if (begin.length > 0) this.#serverStart = answers[1]?.rows[0] as string | undefined
      this.#cache?.meet(this.#serverStart)
      return answers.slice(begin.length)
    } catch (error) {
      if (breaksConnection(error)) this.#release({ isBroken: true })
      throw explainFailure(error, { isCommitSent, usesCache: this.#cached !== undefined })
    }
  }

  async #connect(): Promise<PoolClient> {
    const client = await this.#pool.connect().catch((error: unknown) => {
      throw explainFailure(error, { isCommitSent: false })
    })
    // A broken network may never answer.
    this.#guard = setTimeout(() => {
      const error = Object.assign(new Error('PostgreSQL did not answer in time'), { code: 'ETIMEDOUT' })
      client.connection.stream.destroy(error)
    }, this.#limitMs + graceMs)
    return client
  }

  #release({ isBroken }: { readonly isBroken: boolean }): void {
    clearTimeout(this.#guard)
    if (isBroken) this.#cache?.clear()
    this.#client?.release(isBroken)
    this.#client = undefined
  }

  async #lockAndRead(
    reads: readonly Read[],
    valid: readonly Read[],
    { waitsForLocks }: ReadOptions,
  ): Promise<ReadAnswer> {
    const toLock = valid.filter(({ isLocked }) => isLocked)
    const locks = this.#lock(toLock, waitsForLocks ? 'wait' : 'skip')
    // Each statement sees what was committed before it started, so the reads see the state after the locks are held.
    const answers = await this.#send([...locks, ...this.#find(valid)], {
      isDistributed: this.#isDistributed,
      lockLimitMs: waitsForLocks ? 0 : lockLimitMs,
    })
    return this.#learn(reads, {
      lockedRows: rowsOf(answers.slice(0, locks.length)),
      rows: rowsOf(answers.slice(locks.length)),
    })
  }

  /** The writes of a decision on rows that were locked or read. */
  #write(changes: readonly NetChange[]): Statement[] {
    const checks = changes.length > 0 ? checkRows(this.#unlocked, changes, this.#shardOf) : []
    return [...writeStatements(changes, { shardOf: this.#shardOf }), ...checks]
  }

  /**
   * The writes of a decision on cached rows, which fail unless each row still has its version. Rows that were to be locked are
   * locked first if they are not written, and those that are not written are checked last.
   */
  #writeAndCheck(changes: readonly NetChange[], cached: readonly CachedRead[]): Statement[] {
    const changed = new Set(changes.flatMap(({ before }) => before ?? []))
    const versions = new Map(cached.flatMap(({ row, version }) => (row ? [[row, version]] : [])))
    const others = cached.filter(({ row }) => !row || !changed.has(row))
    const toLock = others.flatMap(({ read, version }) => (read.isLocked && version !== null ? [read] : []))
    return [
      ...this.#lock(toLock, 'wait'),
      ...writeStatements(changes, { versions }),
      ...checkRows(others, changes),
    ]
  }

  #lock(reads: readonly Read[], lock: 'skip' | 'wait'): Statement[] {
    return this.#group(reads).map((same) => readRows([same], { lock, isDistributed: this.#isDistributed }))
  }

  /** Citus takes longer to plan a statement than to run it, so there one statement reads all rows of a machine. */
  #find(reads: readonly Read[]): Statement[] {
    const groups = this.#group(reads)
    const statements = Map.groupBy(groups, (same) =>
      this.#isDistributed && same[0]!.kind === 'row' ? this.#placeOf(same[0]!) : same,
    )
    return [...statements.values()].map((all) => readRows(all, { isDistributed: this.#isDistributed }))
  }

  /** Reads that one statement executes, in the order in which all transactions lock. */
  #group(reads: readonly Read[]): readonly (readonly Read[])[] {
    const groups = Map.groupBy(reads, (read) => `${this.#placeOf(read)} ${shapeOf(read)}`)
    const inOrder = [...groups].sort(
      ([one, [first]], [other, [second]]) =>
        first!.table.lockOrder - second!.table.lockOrder || (one < other ? -1 : 1),
    )
    return inOrder.map(([, same]) => same)
  }

  /** Equal for reads on the same machine. */
  #placeOf(read: Read): string {
    return this.#shardOf ? `${this.#shardOf(read.table, valuesOf(read))}` : ''
  }

  /** Caches what was found; what each read has found. */
  #learn(
    reads: readonly Read[],
    { lockedRows, rows }: { readonly lockedRows: readonly FoundRow[]; readonly rows: readonly FoundRow[] },
  ): ReadAnswer {
    const locked = new Set(lockedRows.map(nameOf))
    const found = new Map<Read, FoundRow[]>()
    const blocked = new Set<Read>()
    for (const one of rows) {
      const { read } = one
      if (read.isLocked && !locked.has(nameOf(one))) blocked.add(read)
      const same = found.get(read)
      if (same) same.push(one)
      else found.set(read, [one])
    }
    const rowReads = reads.filter((read): read is RowRead => read.kind === 'row' && canFind(read))
    const versionOf = (read: RowRead) => found.get(read)?.[0]?.version ?? null
    for (const read of rowReads) this.#cache?.learn(read, found.get(read)?.[0]?.row, versionOf(read))
    this.#unlocked = rowReads
      .filter(({ isLocked, table }) => !isLocked && table.isRechecked)
      .map((read) => ({ read, version: versionOf(read) }))
    return {
      found: reads.map((read) => (blocked.has(read) ? [] : (found.get(read) ?? []).map(({ row }) => row))),
      blocked,
    }
  }
}

/**
 * How long a transaction that skips locked rows waits for another that is adding the same row: a hanging one must not block a
 * whole batch.
 */
const lockLimitMs = 200

/** How long a transaction on cached rows waits for a lock, before it runs again in two round trips, which skip locked rows. */
const cachedLockLimitMs = 20

function rowsOf(answers: readonly Answer[]): readonly FoundRow[] {
  return answers.flatMap(({ rows }) => rows as FoundRow[])
}

function nameOf({ read, row }: FoundRow): string {
  return `${read.table.name}\0${keyText(read.table, row)}`
}

/** What each read has found in the cache. */
function rowsFor(reads: readonly Read[], cached: readonly CachedRead[]): ReadAnswer {
  const rows = new Map<Read, CachedRead['row']>(cached.map(({ read, row }) => [read, row]))
  return { found: reads.map((read) => [rows.get(read) ?? []].flat()), blocked: new Set(), mayBeStale: true }
}

const defaultPatienceMs = 10_000
/** Min time limit of a transaction. */
const minLimitMs = 100
/** How long to wait for the server's own time limit before the connection is closed. */
const graceMs = 500

import { DatabaseError, type Pool, type PoolClient } from 'pg'

import { CachedRows, checkAndWrite, checkUnlocked, type CachedRow, type UnlockedRow } from './cached-rows.ts'
import { roundTrip, type Answer, type Statement } from './round-trip.ts'
import { localSetting, noJit, transactionTimeout } from './local-settings.ts'
import type { NetChange } from '../driver.ts'
import { RolledBackError, type Driver, type DriverTransaction, type ReadAnswer } from '../driver.ts'
import type { RangeRead, Read, RowRead } from '../operation.ts'
import { canHold, keyText, type Column } from '../table.ts'
import type { ShardOfAccount } from './distribution.ts'
import { breaksConnection, explainFailure, rowChanged } from './errors.ts'
import {
  findDistributedRows,
  findRanges,
  findRows,
  isReal,
  lockRows,
  shapeOf,
  type ShardOf,
  writeStatements,
  type FoundRow,
} from './statements.ts'

/**
 * A driver that keeps the ledger in PostgreSQL. A transaction takes two round trips: one locks and then reads, the other
 * writes and commits. If every row is cached it takes one, which also checks the rows; if that fails, the work runs again in
 * two. Leaves no state on a connection, since a pooler may share it between transactions.
 */
export function createPostgresDriver(pool: Pool, shardOfAccount?: ShardOfAccount): Driver {
  const shardOf: ShardOf | undefined =
    shardOfAccount &&
    (({ key }, row) => (key[0] === 'accountId' ? shardOfAccount(row['accountId'] as string) : undefined))
  const cache = new CachedRows()
  return {
    async transaction(work, { patienceMs } = { patienceMs: defaultPatienceMs }) {
      const client = await pool.connect().catch((error: unknown) => {
        throw explainFailure(error, { isCommitSent: false })
      })
      const transaction = new PostgresTransaction(client, patienceMs, cache, shardOf)
      const handle: DriverTransaction = {
        read: (reads, options) => transaction.read(reads, options),
        commit: (changes) => transaction.commit(changes),
      }
      let isBroken = true
      try {
        const result = await work(handle)
          .then(transaction.refuseUnchecked)
          .catch(async (error: unknown) => {
            if (!(await transaction.restart(error))) throw error
            return work(handle)
          })
        isBroken = !transaction.isCommitted && !(await transaction.rollBack())
        return result
      } catch (error) {
        isBroken = transaction.isBrokenBy(error) || !(await transaction.rollBack())
        if (isBroken) cache.clear()
        throw transaction.explain(error)
      } finally {
        transaction.end()
        client.release(isBroken)
      }
    },
  }
}

class PostgresTransaction implements DriverTransaction {
  readonly #client: PoolClient
  readonly #limitMs: number
  readonly #guard: NodeJS.Timeout
  #isBegun = false
  #isCommitSent = false
  readonly #cache: CachedRows
  /** The cached rows that were read instead of asking the server. */
  #cached: readonly CachedRow[] | undefined
  #usesCache: boolean
  readonly #shardOf: ShardOf | undefined
  #reads: readonly RowRead[] = []
  /** Rows that were read without a lock, and must be unchanged at the commit. */
  #unlocked: readonly UnlockedRow[] = []
  /** The error of a round trip; any other error comes from the work. */
  #failure: unknown
  isCommitted = false

  constructor(client: PoolClient, patienceMs: number, cache: CachedRows, shardOf: ShardOf | undefined) {
    this.#client = client
    this.#cache = cache
    this.#shardOf = shardOf
    // The versions of a row on two machines cannot be compared, and a row may be moved.
    this.#usesCache = shardOf === undefined
    this.#limitMs = Math.max(minLimitMs, Math.ceil(patienceMs))
    // A broken network may never answer.
    this.#guard = setTimeout(() => {
      const error = Object.assign(new Error('PostgreSQL did not answer in time'), { code: 'ETIMEDOUT' })
      client.connection.stream.destroy(error)
    }, this.#limitMs + graceMs)
  }

  async read(
    reads: readonly Read[],
    { waitsForLocks: waits }: { readonly waitsForLocks: boolean },
  ): Promise<ReadAnswer> {
    // A read by an invalid id finds nothing.
    const valid = reads.filter(canFind)
    if (this.#usesCache && !waits && !this.#isBegun) {
      // Only the first list of reads can use the cache: if it grows, everything is read.
      const cached = this.#cached ? undefined : this.#cache.find(valid)
      if (cached) {
        this.#cached = cached
        this.#reads = valid as readonly RowRead[]
        const rows = new Map(valid.map((read, index) => [read, cached[index]?.row]))
        const found = reads.map((read) => {
          const row = rows.get(read)
          return row ? [row] : []
        })
        return { found, blocked: new Set() }
      }
      this.#usesCache = false
      this.#cached = undefined
    }
    const isDistributed = this.#shardOf !== undefined
    const placeOf = this.#shardOf ? placeIn(this.#shardOf) : () => ''
    // All transactions lock in the same order, also if several statements lock rows of one table.
    if (isDistributed) valid.sort((one, other) => (placeOf(one) < placeOf(other) ? -1 : 1))
    const lockGroups = groupReads(
      valid.filter(({ isLocked }) => isLocked),
      (read) => read.table.name + placeOf(read),
    )
    const findGroups = groupReads(
      valid,
      (read) => (read.kind === 'row' ? read.table.name : shapeOf(read)) + placeOf(read),
    )
    // Each statement sees what was committed before it started, so the reads see the state after the locks are held.
    const answers = await this.#send(
      [
        ...lockGroups.map((group) => lockRows(group, { waits, isDistributed })),
        ...(isDistributed
          ? findDistributed(findGroups, placeOf)
          : findGroups.map((group) =>
              isRows(group) ? findRows(group) : findRanges(group as readonly RangeRead[]),
            )),
      ],
      { waits },
    )
    const locked = new Set<string>()
    for (const { read, row } of rowsOf(answers.slice(0, lockGroups.length))) locked.add(nameOf(read, row))
    const found = new Map<Read, FoundRow['row'][]>()
    const blocked = new Set<Read>()
    const byKey = new Map<Read, FoundRow>()
    for (const answer of rowsOf(answers.slice(lockGroups.length))) {
      const { read, row } = answer
      if (read.kind === 'row') byKey.set(read, answer)
      if (read.isLocked && !locked.has(nameOf(read, row))) blocked.add(read)
      const rows = found.get(read)
      if (rows) rows.push(row)
      else found.set(read, [row])
    }
    const rowReads = valid.filter((read) => read.kind === 'row')
    if (!isDistributed) this.#cache.learn(rowReads, byKey)
    this.#unlocked = rowReads
      .filter(({ isLocked, table }) => !isLocked && table.isRechecked)
      .map((read) => ({ table: read.table, key: read.key, version: byKey.get(read)?.version ?? null }))
    return { found: reads.map((read) => (blocked.has(read) ? [] : (found.get(read) ?? []))), blocked }
  }

  async commit(changes: readonly NetChange[]): Promise<void> {
    const real = changes.filter(isReal)
    const statements = this.#cached
      ? checkAndWrite(this.#reads, this.#cached, real)
      : [
          ...writeStatements(real, { shardOf: this.#shardOf }),
          ...(real.length > 0 ? checkUnlocked(this.#unlocked, real, this.#shardOf) : []),
        ]
    this.#cache.begin(real)
    this.#isCommitSent = true
    // Not prepared, so that the fault harness finds the word on the wire.
    const answers = await this.#send([...statements, { text: 'commit' }])
    // The server answers ROLLBACK if the transaction had already failed.
    if (answers.at(-1)?.command !== 'COMMIT') throw new RolledBackError('the server has rolled back')
    this.isCommitted = true
    const version = answers.at(-2)?.rows[0] as string | undefined
    if (real.length > 0 && version !== undefined) this.#cache.end(real, version)
  }

  /** Refuses a result that was decided on cached rows without a commit that checks them. */
  readonly refuseUnchecked = <Result>(result: Result): Result => {
    if (this.#cached && !this.isCommitted) throw staleError
    return result
  }

  /**
   * Prepares a second run without the cache; returns whether that is needed: cached rows were stale or locked, and nothing was
   * committed.
   */
  async restart(error: unknown): Promise<boolean> {
    if (!this.#cached || (error !== staleError && !isStale(error, this.#failure))) return false
    if (!(await this.rollBack())) return false
    this.#isBegun = false
    this.#isCommitSent = false
    this.#cached = undefined
    this.#usesCache = false
    this.#failure = undefined
    return true
  }

  /** Whether the connection can be used again. */
  async rollBack(): Promise<boolean> {
    if (!this.#isBegun) return true
    return roundTrip(this.#client, [{ text: 'rollback' }]).then(
      () => true,
      () => false,
    )
  }

  isBrokenBy(error: unknown): boolean {
    return error === this.#failure && breaksConnection(error)
  }

  explain(error: unknown): unknown {
    // The connection broke before the second run.
    if (this.#cached && isStale(error, this.#failure))
      return new RolledBackError('a row has changed', { cause: error })
    return error === this.#failure ? explainFailure(error, { isCommitSent: this.#isCommitSent }) : error
  }

  end(): void {
    clearTimeout(this.#guard)
  }

  #begin({ waits }: { readonly waits: boolean }): Statement[] {
    const lockLimit = waits ? 0 : lockLimitMs
    if (this.#shardOf)
      return [...beginWithin(this.#limitMs, lockLimit, distributedServer), ...propagated(lockLimit)]
    if (!this.#cached) return beginWithin(this.#limitMs, lockLimit, anyServer)
    return beginWithin(this.#limitMs, cachedLockLimitMs, sameServer, this.#cache.server)
  }

  async #send(statements: readonly Statement[], { waits } = { waits: false }): Promise<Answer[]> {
    const begin = this.#isBegun ? [] : this.#begin({ waits })
    this.#isBegun = true
    try {
      const answers = await roundTrip(this.#client, [...begin, ...statements])
      if (begin.length > 0) this.#cache.meet(answers[1]?.rows[0] as string | undefined)
      return answers.slice(begin.length)
    } catch (error) {
      this.#failure = error
      throw error
    }
  }
}

const defaultPatienceMs = 10_000
/** Min time limit of a transaction. */
const minLimitMs = 100
/**
 * How long a transaction that skips locked rows waits for another that is adding the same row: a hanging one must not block a
 * whole batch.
 */
const lockLimitMs = 200
/** How long a transaction on cached rows waits for a lock, before it runs again in two round trips, which skip locked rows. */
const cachedLockLimitMs = 20
/** How long to wait for the server's own time limit before the connection is closed. */
const graceMs = 500

/**
 * All settings end with the transaction. Each connection keeps its plans, often made while the tables are small, so plans that
 * are good only for small tables are disabled. Rows are found by key, and ranges by the index that gives their order.
 */
function beginWithin(
  limitMs: number,
  lockLimit: number,
  { name, text }: Statement,
  server?: string,
): Statement[] {
  const values = [`${limitMs}`, `${lockLimit}`, ...(server === undefined ? [] : [server])]
  return [
    { name: 'purser_begin', text: 'begin isolation level read committed' },
    { name, text, values, decodeRow: ([started]) => started },
  ]
}

const settings = [
  "set_config('statement_timeout', $1, true)",
  "set_config('lock_timeout', $2, true)",
  // The service has stopped responding: its machine has vanished, or the process is frozen.
  localSetting('idle_in_transaction_session_timeout', '10000'),
  transactionTimeout,
  localSetting('plan_cache_mode', 'force_generic_plan'),
  ...['seqscan', 'sort', 'incremental_sort', 'memoize'].map((plan) => localSetting(`enable_${plan}`, 'off')),
  noJit,
]

const serverStart = 'pg_postmaster_start_time()::text'
const areSet = settings.map((setting) => `${setting} is not null`).join(' and ')
/** Citus chooses the machine when it plans, so plans are not kept. */
const distributedServer = {
  name: 'purser_limits_distributed',
  text: `select ${serverStart} where ${[
    ...settings.slice(0, 4),
    localSetting('citus.propagate_set_commands', 'local'),
  ]
    .map((setting) => `${setting} is not null`)
    .join(' and ')}`,
}

/** Settings for the other machines too: Citus propagates only `set local`. */
function propagated(lockLimit: number): Statement[] {
  const settings = ['jit = off', `lock_timeout = ${lockLimit}`]
  return settings.map((setting) => ({
    name: `purser_local_${setting.replace(/\W+/g, '_')}`,
    text: `set local ${setting}`,
  }))
}

const anyServer = { name: 'purser_limits', text: `select ${serverStart} where ${areSet}` }
/** Fails on any other server than the one that the cached rows are from. */
const sameServer = {
  name: 'purser_limits_cached',
  text: `select ${serverStart} where 1 / (${serverStart} = $3)::int = 1 and ${areSet}`,
}

const staleError = new Error('not all rows are cached')

/** Whether a cached row was stale, so that a write could also break a constraint, or locked. */
function isStale(error: unknown, failure: unknown): boolean {
  return (
    error === failure &&
    error instanceof DatabaseError &&
    (error.code === rowChanged || /^(22012|23...|55P03|40P01|40001)$/.test(error.code ?? ''))
  )
}

function canFind(read: Read): boolean {
  const values = read.kind === 'row' ? read.key : read.where
  const names = read.kind === 'row' ? read.table.key : Object.keys(values)
  return names.every((name) => canHold(read.table.columns[name] as Column, values[name]))
}

/** Groups reads that one statement executes, in lock order. */
function groupReads(reads: readonly Read[], nameOf: (read: Read) => string): (readonly Read[])[] {
  return [...Map.groupBy(reads, nameOf).values()].sort((one, other) => lockOrderOf(one) - lockOrderOf(other))
}

function lockOrderOf([read]: readonly Read[]): number {
  return read?.table.lockOrder ?? 0
}

/** One statement for the rows of each shard, and one for each group of ranges. */
function findDistributed(groups: readonly (readonly Read[])[], placeOf: (read: Read) => string): Statement[] {
  const [rows, ranges] = [groups.filter(isRows), groups.filter((group) => !isRows(group))]
  const byPlace = Map.groupBy(rows, ([read]) => placeOf(read as Read))
  return [
    ...[...byPlace.values()].map(findDistributedRows),
    ...ranges.map((group) => findRanges(group as readonly RangeRead[], true)),
  ]
}

/** Equal for reads on the same machine. */
function placeIn(shardOf: ShardOf): (read: Read) => string {
  return (read) => ` ${shardOf(read.table, read.kind === 'row' ? read.key : read.where)}`
}

function isRows(reads: readonly Read[]): reads is readonly RowRead[] {
  return reads[0]?.kind === 'row'
}

function rowsOf(answers: readonly Answer[]): readonly FoundRow[] {
  return answers.flatMap(({ rows }) => rows as FoundRow[])
}

function nameOf({ table }: Read, row: FoundRow['row']): string {
  return `${table.name}\0${keyText(table, row)}`
}

import { DatabaseError, type Pool, type PoolClient } from 'pg'

import { breaksConnection } from './retries.ts'
import { roundTrip, type Answer, type Statement } from './round-trip.ts'
import { localSetting, noJit, transactionTimeout } from './local-settings.ts'
import type { NetChange } from '../driver.ts'
import { RolledBackError, type Driver, type DriverTransaction, type ReadAnswer } from '../driver.ts'
import type { RangeRead, Read, RowRead } from '../operation.ts'
import { canHold, keyText, type Column } from '../table.ts'
import type { ShardOfAccount } from './distribution.ts'
import { explainFailure, rowChanged } from './errors.ts'
import { checkAndWrite, checkLooked, KnownRows, type Known, type LookedRow } from './known-rows.ts'
import {
  findRanges,
  findRows,
  findSpreadRows,
  isReal,
  lockRows,
  shapeOf,
  type ShardOf,
  writeStatements,
  type FoundRow,
} from './statements.ts'

/**
 * A driver that keeps the ledger in PostgreSQL. A transaction takes two round trips: one that locks and then reads, and one
 * that writes and commits. Where every row is known it takes one, which checks them, and when it fails the work is done again
 * in two. Nothing is left behind on a connection, which a pool may share between transactions.
 */
export function createPostgresDriver(pool: Pool, shardOfAccount?: ShardOfAccount): Driver {
  const shardOf: ShardOf | undefined =
    shardOfAccount &&
    (({ key }, row) => (key[0] === 'accountId' ? shardOfAccount(row['accountId'] as string) : undefined))
  const known = new KnownRows()
  return {
    async transaction(work, { patienceMs } = { patienceMs: defaultPatienceMs }) {
      const client = await pool.connect().catch((error: unknown) => {
        throw explainFailure(error, { isCommitSent: false })
      })
      const transaction = new PostgresTransaction(client, patienceMs, known, shardOf)
      const handle: DriverTransaction = {
        read: (reads, options) => transaction.read(reads, options),
        commit: (changes) => transaction.commit(changes),
      }
      let isBroken = true
      try {
        const result = await work(handle)
          .then(transaction.refuseUnchecked)
          .catch(async (error: unknown) => {
            if (!(await transaction.isToBeDoneAgain(error))) throw error
            return work(handle)
          })
        isBroken = !transaction.isCommitted && !(await transaction.rollBack())
        return result
      } catch (error) {
        isBroken = transaction.isBrokenBy(error) || !(await transaction.rollBack())
        if (isBroken) known.forget()
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
  readonly #known: KnownRows
  /** What was read, where all of it is known, so that the server was not asked. */
  #found: readonly Known[] | undefined
  /** Whether what is known is used at all. */
  #usesKnown: boolean
  readonly #shardOf: ShardOf | undefined
  #reads: readonly RowRead[] = []
  /** Rows that were looked at on the server, which must not have changed by the commit. */
  #looked: readonly LookedRow[] = []
  /** The error of a round trip; any other error is of the work. */
  #failure: unknown
  isCommitted = false

  constructor(client: PoolClient, patienceMs: number, known: KnownRows, shardOf: ShardOf | undefined) {
    this.#client = client
    this.#known = known
    this.#shardOf = shardOf
    // A row that has moved to another machine has a version of that one, which may be any.
    this.#usesKnown = shardOf === undefined
    this.#limitMs = Math.max(minLimitMs, Math.ceil(patienceMs))
    // A network that swallows everything answers nothing, ever.
    this.#guard = setTimeout(() => {
      const error = Object.assign(new Error('PostgreSQL did not answer in time'), { code: 'ETIMEDOUT' })
      client.connection.stream.destroy(error)
    }, this.#limitMs + graceMs)
  }

  async read(
    reads: readonly Read[],
    { waitsForLocks: waits }: { readonly waitsForLocks: boolean },
  ): Promise<ReadAnswer> {
    // A read by an id that a caller made up finds nothing.
    const askable = reads.filter(canFind)
    if (this.#usesKnown && !waits && !this.#isBegun) {
      // Only one list of reads is checked: where it grows, all of it is read.
      const known = this.#found ? undefined : this.#known.find(askable)
      if (known) {
        this.#found = known
        this.#reads = askable as readonly RowRead[]
        const rows = new Map(askable.map((read, index) => [read, known[index]?.row]))
        const found = reads.map((read) => {
          const row = rows.get(read)
          return row ? [row] : []
        })
        return { found, blocked: new Set() }
      }
      this.#usesKnown = false
      this.#found = undefined
    }
    const isSpread = this.#shardOf !== undefined
    const placeOf = this.#shardOf ? placeIn(this.#shardOf) : () => ''
    // One order for all transactions, also of what several statements lock in one table.
    if (isSpread) askable.sort((one, other) => (placeOf(one) < placeOf(other) ? -1 : 1))
    const lockGroups = groupReads(
      askable.filter(({ isLocked }) => isLocked),
      (read) => read.table.name + placeOf(read),
    )
    const findGroups = groupReads(
      askable,
      (read) => (read.kind === 'row' ? read.table.name : shapeOf(read)) + placeOf(read),
    )
    // Each statement sees what was committed before it began: so the reads see everything as it is once the locks are held.
    const answers = await this.#send(
      [
        ...lockGroups.map((group) => lockRows(group, { waits, isSpread })),
        ...(isSpread
          ? findSpread(findGroups, placeOf)
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
    const rowReads = askable.filter((read) => read.kind === 'row')
    if (!isSpread) this.#known.learn(rowReads, byKey)
    this.#looked = rowReads
      .filter(({ isLocked, table }) => !isLocked && table.isRechecked)
      .map((read) => ({ table: read.table, key: read.key, version: byKey.get(read)?.version ?? null }))
    return { found: reads.map((read) => (blocked.has(read) ? [] : (found.get(read) ?? []))), blocked }
  }

  async commit(changes: readonly NetChange[]): Promise<void> {
    const real = changes.filter(isReal)
    const statements = this.#found
      ? checkAndWrite(this.#reads, this.#found, real)
      : [
          ...writeStatements(real, { shardOf: this.#shardOf }),
          ...(real.length > 0 ? checkLooked(this.#looked, real, this.#shardOf) : []),
        ]
    this.#known.begin(real)
    this.#isCommitSent = true
    // It has no name: what watches the wire for commits finds the word.
    const answers = await this.#send([
      ...statements,
      ...(real.length > 0 ? [ownVersion] : []),
      { text: 'commit' },
    ])
    // The server answers so when the transaction had failed before.
    if (answers.at(-1)?.command !== 'COMMIT') throw new RolledBackError('the server has rolled back')
    this.isCommitted = true
    const version = answers.at(-2)?.rows[0] as string | undefined
    if (real.length > 0 && version !== undefined) this.#known.end(real, version)
  }

  /** What was decided on known rows counts once they are checked. */
  readonly refuseUnchecked = <Result>(result: Result): Result => {
    if (this.#found && !this.isCommitted) throw staleError
    return result
  }

  /** Whether rows were not as they were known, or locked: nothing was committed then, and the work is done with what is read. */
  async isToBeDoneAgain(error: unknown): Promise<boolean> {
    if (!this.#found || (error !== staleError && !isStale(error, this.#failure))) return false
    if (!(await this.rollBack())) return false
    this.#isBegun = false
    this.#isCommitSent = false
    this.#found = undefined
    this.#usesKnown = false
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
    // Its connection broke before it could be done again.
    if (this.#found && isStale(error, this.#failure))
      return new RolledBackError('a row has changed', { cause: error })
    return error === this.#failure ? explainFailure(error, { isCommitSent: this.#isCommitSent }) : error
  }

  end(): void {
    clearTimeout(this.#guard)
  }

  #begin({ waits }: { readonly waits: boolean }): Statement[] {
    const lockLimit = waits ? 0 : lockLimitMs
    if (this.#shardOf) return [...beginWithin(this.#limitMs, lockLimit, spreadServer), ...passOn(lockLimit)]
    if (!this.#found) return beginWithin(this.#limitMs, lockLimit, anyServer)
    return beginWithin(this.#limitMs, knownLockLimitMs, sameServer, this.#known.server)
  }

  async #send(statements: readonly Statement[], { waits } = { waits: false }): Promise<Answer[]> {
    const begin = this.#isBegun ? [] : this.#begin({ waits })
    this.#isBegun = true
    try {
      const answers = await roundTrip(this.#client, [...begin, ...statements])
      if (begin.length > 0) this.#known.meet(answers[1]?.rows[0] as string | undefined)
      return answers.slice(begin.length)
    } catch (error) {
      this.#failure = error
      throw error
    }
  }
}

const defaultPatienceMs = 10_000
/** A transaction gets at least this long. */
const minLimitMs = 100
/**
 * How long a transaction that waits for no locked rows waits for another that is adding the same row: one that hangs must not
 * hold up a whole batch.
 */
const lockLimitMs = 200
/** How long a transaction waits for a lock that can also be done in two trips, which leave out what is locked. */
const knownLockLimitMs = 20
/** How much longer than the limit of its statements a transaction is waited for. */
const graceMs = 500

/**
 * All settings end with the transaction. Plans are made once for each connection, most often while the tables are still
 * small, and kept; so what would be good for small tables only is ruled out. Each row is found by its key, and
 * ranges go along the index that gives their order.
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
  // The service does not answer any more: its machine has vanished, or it is frozen.
  localSetting('idle_in_transaction_session_timeout', '10000'),
  transactionTimeout,
  localSetting('plan_cache_mode', 'force_generic_plan'),
  ...['seqscan', 'sort', 'incremental_sort', 'memoize'].map(ruleOut),
  noJit,
]

/** The transaction that writes. */
const ownVersion: Statement = {
  name: 'purser_version',
  text: 'select pg_current_xact_id()::xid',
  decodeRow: ([version]) => version,
}

const serverStart = 'pg_postmaster_start_time()::text'
const areSet = settings.map((setting) => `${setting} is not null`).join(' and ')
/** Citus chooses the machine when it plans, so it plans anew each time. */
const spreadServer = {
  name: 'purser_limits_spread',
  text: `select ${serverStart} where ${[
    ...settings.slice(0, 4),
    localSetting('citus.propagate_set_commands', 'local'),
  ]
    .map((setting) => `${setting} is not null`)
    .join(' and ')}`,
}

/** What Citus is to set on the other machines, too: it passes on nothing but `set local`. */
function passOn(lockLimit: number): Statement[] {
  const settings = ['jit = off', `lock_timeout = ${lockLimit}`]
  return settings.map((setting) => ({
    name: `purser_local_${setting.replace(/\W+/g, '_')}`,
    text: `set local ${setting}`,
  }))
}

const anyServer = { name: 'purser_limits', text: `select ${serverStart} where ${areSet}` }
/** Fails on any other server than the one that the rows are known from. */
const sameServer = {
  name: 'purser_limits_known',
  text: `select ${serverStart} where 1 / (${serverStart} = $3)::int = 1 and ${areSet}`,
}

const staleError = new Error('not all rows are known')

/** What the server answers when a row is not as it was known, so that what is written may break a constraint, or is locked. */
function isStale(error: unknown, failure: unknown): boolean {
  return (
    error === failure &&
    error instanceof DatabaseError &&
    (error.code === rowChanged || /^(22012|23...|55P03|40P01|40001)$/.test(error.code ?? ''))
  )
}

function ruleOut(plan: string): string {
  return localSetting(`enable_${plan}`, 'off')
}

function canFind(read: Read): boolean {
  const values = read.kind === 'row' ? read.key : read.where
  const names = read.kind === 'row' ? read.table.key : Object.keys(values)
  return names.every((name) => canHold(read.table.columns[name] as Column, values[name]))
}

/** The reads that one statement answers, in the order in which rows are locked. */
function groupReads(reads: readonly Read[], nameOf: (read: Read) => string): (readonly Read[])[] {
  return [...Map.groupBy(reads, nameOf).values()].sort((one, other) => lockOrderOf(one) - lockOrderOf(other))
}

function lockOrderOf([read]: readonly Read[]): number {
  return read?.table.lockOrder ?? 0
}

/** The rows of each shard in one statement, and the ranges. */
function findSpread(groups: readonly (readonly Read[])[], placeOf: (read: Read) => string): Statement[] {
  const [rows, ranges] = [groups.filter(isRows), groups.filter((group) => !isRows(group))]
  const byPlace = Map.groupBy(rows, ([read]) => placeOf(read as Read))
  return [
    ...[...byPlace.values()].map(findSpreadRows),
    ...ranges.map((group) => findRanges(group as readonly RangeRead[], true)),
  ]
}

/** Tells reads apart that go to different machines. */
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

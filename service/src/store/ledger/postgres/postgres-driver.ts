import type { Pool, PoolClient } from 'pg'

import { breaksConnection } from './retries.ts'
import { roundTrip, type Answer, type Statement } from './round-trip.ts'
import { localSetting, noJit, transactionTimeout } from './local-settings.ts'
import type { NetChange } from '../driver.ts'
import { RolledBackError, type Driver, type DriverTransaction, type ReadAnswer } from '../driver.ts'
import type { RangeRead, Read, RowRead } from '../operation.ts'
import { canHold, keyText, type Column } from '../table.ts'
import { explainFailure } from './errors.ts'
import { findRanges, findRows, lockRows, shapeOf, writeStatements, type FoundRow } from './statements.ts'

/**
 * A driver that keeps the ledger in PostgreSQL. A transaction takes two round trips: one that locks and then reads, and one
 * that writes and commits. Nothing is left behind on a connection, which a pool may share between transactions.
 */
export function createPostgresDriver(pool: Pool): Driver {
  return {
    async transaction(work, { patienceMs } = { patienceMs: defaultPatienceMs }) {
      const client = await pool.connect().catch((error: unknown) => {
        throw explainFailure(error, { isCommitSent: false })
      })
      const transaction = new PostgresTransaction(client, patienceMs)
      let isBroken = true
      try {
        const result = await work({
          read: (reads, options) => transaction.read(reads, options),
          commit: (changes) => transaction.commit(changes),
        })
        isBroken = !transaction.isCommitted && !(await transaction.rollBack())
        return result
      } catch (error) {
        isBroken = transaction.isBrokenBy(error) || !(await transaction.rollBack())
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
  /** The error of a round trip; any other error is of the work. */
  #failure: unknown
  isCommitted = false

  constructor(client: PoolClient, patienceMs: number) {
    this.#client = client
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
    const lockGroups = groupReads(
      askable.filter(({ isLocked }) => isLocked),
      ({ table }) => table.name,
    )
    const findGroups = groupReads(askable, (read) => (read.kind === 'row' ? read.table.name : shapeOf(read)))
    // Each statement sees what was committed before it began: so the reads see everything as it is once the locks are held.
    const answers = await this.#send(
      [
        ...lockGroups.map((group) => lockRows(group, { waits })),
        ...findGroups.map((group) =>
          isRows(group) ? findRows(group) : findRanges(group as readonly RangeRead[]),
        ),
      ],
      { waits },
    )
    const locked = new Set<string>()
    for (const { read, row } of rowsOf(answers.slice(0, lockGroups.length))) locked.add(nameOf(read, row))
    const found = new Map<Read, FoundRow['row'][]>()
    const blocked = new Set<Read>()
    for (const { read, row } of rowsOf(answers.slice(lockGroups.length))) {
      if (read.isLocked && !locked.has(nameOf(read, row))) blocked.add(read)
      const rows = found.get(read)
      if (rows) rows.push(row)
      else found.set(read, [row])
    }
    return { found: reads.map((read) => (blocked.has(read) ? [] : (found.get(read) ?? []))), blocked }
  }

  async commit(changes: readonly NetChange[]): Promise<void> {
    const statements = writeStatements(changes)
    this.#isCommitSent = true
    // It has no name: what watches the wire for commits finds the word.
    const answers = await this.#send([...statements, { text: 'commit' }])
    // The server answers so when the transaction had failed before.
    if (answers.at(-1)?.command !== 'COMMIT') throw new RolledBackError('the server has rolled back')
    this.isCommitted = true
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
    return error === this.#failure ? explainFailure(error, { isCommitSent: this.#isCommitSent }) : error
  }

  end(): void {
    clearTimeout(this.#guard)
  }

  async #send(statements: readonly Statement[], { waits } = { waits: false }): Promise<Answer[]> {
    const begin = this.#isBegun ? [] : beginWithin(this.#limitMs, { waits })
    this.#isBegun = true
    try {
      const answers = await roundTrip(this.#client, [...begin, ...statements])
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
/** How much longer than the limit of its statements a transaction is waited for. */
const graceMs = 500

/**
 * All settings end with the transaction. Plans are made once for each connection, most often while the tables are still
 * small, and kept; so what would be good for small tables only is ruled out. Each row is found by its key, and
 * ranges go along the index that gives their order.
 */
function beginWithin(limitMs: number, { waits }: { readonly waits: boolean }): Statement[] {
  return [
    { name: 'purser_begin', text: 'begin isolation level read committed' },
    {
      name: 'purser_limits',
      text: `select ${settings.join(', ')}`,
      values: [`${limitMs}`, waits ? '0' : `${lockLimitMs}`],
    },
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

function isRows(reads: readonly Read[]): reads is readonly RowRead[] {
  return reads[0]?.kind === 'row'
}

function rowsOf(answers: readonly Answer[]): readonly FoundRow[] {
  return answers.flatMap(({ rows }) => rows as FoundRow[])
}

function nameOf({ table }: Read, row: FoundRow['row']): string {
  return `${table.name}\0${keyText(table, row)}`
}

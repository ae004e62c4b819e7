import type { Pool } from 'pg'

import type { Driver, DriverTransaction, ReadAnswer } from '../driver.ts'
import type { Read, RowRead } from '../operation.ts'
import { keyText, type Table } from '../table.ts'
import { CachedRows, runOnCachedRows } from './cached-rows.ts'
import type { ShardOfAccount } from './distribution.ts'
import { explainFailure } from './errors.ts'
import type { Answer } from './round-trip.ts'
import { defaultPatienceMs, ServerTransaction } from './server-transaction.ts'
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
 * writes and commits. If every row is cached it takes one, which also checks the rows; if that fails, the work runs again in
 * two. Leaves no state on a connection, since a pooler may share it between transactions.
 */
export function createPostgresDriver(pool: Pool, shardOfAccount?: ShardOfAccount): Driver {
  // The versions of a row on two machines cannot be compared, and a row may be moved.
  const cache = shardOfAccount ? undefined : new CachedRows()
  const shardOf: ShardOf | undefined =
    shardOfAccount &&
    (({ key }, row) => (key[0] === 'accountId' ? shardOfAccount(row['accountId'] as string) : undefined))
  return {
    async transaction(work, { patienceMs } = { patienceMs: defaultPatienceMs }) {
      const client = await pool.connect().catch((error: unknown) => {
        throw explainFailure(error, { isCommitSent: false })
      })
      const server = new ServerTransaction(client, patienceMs)
      const locking = new LockingTransaction(server, { cache, shardOf })
      let isBroken = true
      try {
        const result = await (cache ? runOnCachedRows(work, { cache, server, locking }) : work(locking))
        isBroken = !server.isCommitted && !(await server.rollBack())
        return result
      } catch (error) {
        isBroken = server.isBrokenBy(error) || !(await server.rollBack())
        if (isBroken) cache?.clear()
        throw server.explain(error)
      } finally {
        server.end()
        client.release(isBroken)
      }
    },
  }
}

/** A transaction that locks and reads its rows. */
class LockingTransaction implements DriverTransaction {
  readonly #server: ServerTransaction
  readonly #cache: CachedRows | undefined
  readonly #shardOf: ShardOf | undefined
  readonly #isDistributed: boolean
  #begin: { readonly lockLimitMs: number; readonly isDistributed: boolean }
  /** Rows that were read without a lock, and must be unchanged at the commit. */
  #unlocked: readonly RowVersion[] = []

  constructor(
    server: ServerTransaction,
    { cache, shardOf }: { readonly cache: CachedRows | undefined; readonly shardOf: ShardOf | undefined },
  ) {
    this.#server = server
    this.#cache = cache
    this.#shardOf = shardOf
    this.#isDistributed = shardOf !== undefined
    this.#begin = { lockLimitMs, isDistributed: this.#isDistributed }
  }

  readonly read: DriverTransaction['read'] = async (reads, { waitsForLocks }) => {
    const isDistributed = this.#isDistributed
    this.#begin = { isDistributed, lockLimitMs: waitsForLocks ? 0 : lockLimitMs }
    // A read by an invalid id finds nothing.
    const valid = reads.filter(canFind)
    const locks = this.#group(valid.filter(({ isLocked }) => isLocked))
    const lock = waitsForLocks ? 'wait' : 'skip'
    // Each statement sees what was committed before it started, so the reads see the state after the locks are held.
    const answers = await this.#server.send(
      [
        ...locks.map(({ same }) => readRows([same], { lock, isDistributed })),
        ...this.#find(valid).map((groups) => readRows(groups, { isDistributed })),
      ],
      this.#begin,
    )
    return this.#learn(reads, {
      lockedRows: rowsOf(answers.slice(0, locks.length)),
      rows: rowsOf(answers.slice(locks.length)),
    })
  }

  readonly commit: DriverTransaction['commit'] = async (changes) => {
    const real = changes.filter(isReal)
    const writes = writeStatements(real, { shardOf: this.#shardOf })
    const checks = real.length > 0 ? checkRows(this.#unlocked, real, this.#shardOf) : []
    this.#cache?.begin(real)
    const answers = await this.#server.commit([...writes, ...checks], this.#begin)
    this.#cache?.meet(this.#server.serverStart)
    this.#cache?.end(real, answers)
  }

  /** Reads that one statement executes, in the order in which all transactions lock. */
  #group(reads: readonly Read[]): readonly ReadGroup[] {
    const shardOf = this.#shardOf
    const placeOf = (read: Read) => (shardOf ? `${shardOf(read.table, valuesOf(read))}` : '')
    const groups = Map.groupBy(reads, (read) => `${placeOf(read)} ${shapeOf(read)}`)
    return [...groups]
      .map(([name, same]) => ({ name, same, table: same[0]!.table, place: placeOf(same[0]!) }))
      .sort((one, other) => one.table.lockOrder - other.table.lockOrder || (one.name < other.name ? -1 : 1))
  }

  /**
   * The groups of reads of each statement. Citus takes longer to plan a statement than to run it, so there one statement reads
   * all rows of a machine.
   */
  #find(reads: readonly Read[]): readonly (readonly (readonly Read[])[])[] {
    const groups = this.#group(reads)
    const statements = Map.groupBy(groups, ({ name, place, same }) =>
      this.#isDistributed && same[0]?.kind === 'row' ? place : name,
    )
    return [...statements.values()].map((groups) => groups.map(({ same }) => same))
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
    this.#cache?.meet(this.#server.serverStart)
    for (const read of rowReads) this.#cache?.learn(read, found.get(read)?.[0]?.row, versionOf(read))
    this.#unlocked = rowReads
      .filter(({ isLocked, table }) => !isLocked && table.isRechecked)
      .map((read) => ({ table: read.table, key: read.key, version: versionOf(read) }))
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

interface ReadGroup {
  readonly name: string
  readonly same: readonly Read[]
  readonly table: Table
  /** Equal for reads on the same machine. */
  readonly place: string
}

function rowsOf(answers: readonly Answer[]): readonly FoundRow[] {
  return answers.flatMap(({ rows }) => rows as FoundRow[])
}

function nameOf({ read, row }: FoundRow): string {
  return `${read.table.name}\0${keyText(read.table, row)}`
}

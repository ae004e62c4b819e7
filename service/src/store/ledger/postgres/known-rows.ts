import type { Statement } from './round-trip.ts'
import type { NetChange } from '../driver.ts'
import type { Read, RowRead } from '../operation.ts'
import { KeyMap } from '../key-map.ts'
import { RowCache } from '../row-cache.ts'
import type { Table } from '../table.ts'
import {
  checkRows,
  lockKnownRows,
  writeStatements,
  type FoundRow,
  type KnownRow,
  type ShardOf,
} from './statements.ts'

type Row = Readonly<Record<string, unknown>>

/** A row as this process knows it, from when it has read or written it last. */
export interface Known {
  /** Undefined when there was none. */
  readonly row: Row | undefined
  /** The transaction that has written it. */
  readonly version: string | null
  /** Whether a transaction of this process may be writing it. */
  isBusy: boolean
  /** How often it must be read unchanged before it is used again: others write it, too. */
  waits: number
  readonly penalty: number
}

/**
 * The rows that this process has read or written last. A transaction can decide on them without a trip to the server: the
 * one trip in which it writes and commits locks them, and fails unless each was written last by the transaction that is known
 * here. So no decision is kept whose facts the same transaction has not checked.
 */
export class KnownRows {
  #rows = new RowCache<Known>()
  /** Tables of which rows were read: rows of others are not kept. */
  readonly #read = new Set<Table>()
  /** When the server was started, which tells it from another that has taken its place, and numbers transactions anew. */
  server: string | undefined

  /** Forgets everything unless it is the same server as before. */
  meet(server: string | undefined): void {
    if (server !== undefined && server !== this.server) this.forget()
    this.server = server ?? this.server
  }

  forget(): void {
    this.#rows = new RowCache()
  }

  /** What was asked for, if all of it is known well enough. */
  find(reads: readonly Read[]): readonly Known[] | undefined {
    const found: Known[] = []
    for (const read of reads) {
      const known = read.kind === 'row' ? this.#rows.get(read.table, read.key) : undefined
      if (!known || known.isBusy || known.waits > 0) return undefined
      found.push(known)
    }
    return found
  }

  /** Takes in what was read by keys: rows, or that there are none. */
  learn(reads: readonly RowRead[], answers: ReadonlyMap<Read, FoundRow>): void {
    for (const read of reads) {
      this.#read.add(read.table)
      const answer = answers.get(read)
      this.#set(read.table, read.key, answer?.row, answer?.version ?? null)
    }
  }

  /** Uses no row that is being written. */
  begin(changes: readonly NetChange[]): void {
    for (const { table, before } of changes) {
      const known = before && this.#rows.get(table, before)
      if (known) known.isBusy = true
    }
  }

  /** Takes in what was committed. */
  end(changes: readonly NetChange[], version: string): void {
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

/**
 * What checks the rows that were decided on, as they were found, and writes: first all that were locked are locked, table by
 * table; last those that were looked at are checked.
 */
export function checkAndWrite(
  reads: readonly RowRead[],
  found: readonly Known[],
  changes: readonly NetChange[],
): Statement[] {
  const updates = new Map<Row, NetChange>()
  for (const change of changes) if (change.before) updates.set(change.before, change)
  const versions = new Map<NetChange, string | null>()
  const looked: LookedRow[] = []
  const locked = new Map<Table, { readonly rows: KnownRow[]; readonly updates: NetChange[] }>()
  for (const [index, { table, key, isLocked }] of reads.entries()) {
    const { row, version } = found[index] as Known
    const change = row && updates.get(row)
    if (change) versions.set(change, version)
    if (row && isLocked) {
      const own = locked.get(table) ?? { rows: [], updates: [] }
      locked.set(table, own)
      own.rows.push({ key, version })
      if (change) own.updates.push(change)
    } else if (!change) looked.push({ table, key, version })
  }
  const first: Statement[] = []
  const written = new Set<NetChange>()
  for (const [table, own] of [...locked].sort(([one], [other]) => one.lockOrder - other.lockOrder)) {
    if (own.updates.length < own.rows.length) first.push(lockKnownRows(table, own.rows))
    else {
      first.push(...writeStatements(own.updates, { versions }))
      for (const change of own.updates) written.add(change)
    }
  }
  const rest = changes.filter((change) => !written.has(change))
  return [...first, ...writeStatements(rest, { versions }), ...checkLooked(looked, changes)]
}

/** A row that was looked at, as it was found. */
export interface LookedRow extends KnownRow {
  readonly table: Table
}

/**
 * What fails unless rows that were looked at are as they were found. Only the commit follows it, since what is written may
 * have to wait. A row that was not there and is added is checked by its key.
 */
export function checkLooked(
  looked: readonly LookedRow[],
  changes: readonly NetChange[],
  shardOf?: ShardOf,
): Statement[] {
  const missing = new Set(looked.flatMap(({ table, version }) => (version === null ? [table] : [])))
  const added = new KeyMap<true>()
  if (missing.size > 0) {
    for (const { table, before, now } of changes) {
      if (now && !before && missing.has(table)) added.set(table, now, true)
    }
  }
  const byShard = new Map<number | undefined, Map<Table, KnownRow[]>>()
  for (const row of looked) {
    if (row.version === null && added.get(row.table, row.key)) continue
    const shard = shardOf?.(row.table, row.key)
    const byTable = byShard.get(shard) ?? new Map<Table, KnownRow[]>()
    byShard.set(shard, byTable)
    const own = byTable.get(row.table)
    if (own) own.push(row)
    else byTable.set(row.table, [row])
  }
  return [...byShard.values()].map((byTable) => checkRows(byTable, shardOf !== undefined))
}

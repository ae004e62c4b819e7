import type { Statement } from './round-trip.ts'
import type { NetChange } from '../driver.ts'
import type { Read, RowRead } from '../operation.ts'
import { KeyMap } from '../key-map.ts'
import { RowCache } from '../row-cache.ts'
import type { Table } from '../table.ts'
import { payments } from '../tables.ts'
import {
  checkVersions,
  lockUnchangedRows,
  writeStatements,
  type FoundRow,
  type RowVersion,
  type ShardOf,
} from './statements.ts'

type Row = Readonly<Record<string, unknown>>

/** A row as this process last read or wrote it. */
export interface CachedRow {
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
  /** Tables that were read, and payments, which are captured soon after they are added: rows of other tables are not cached. */
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

  /** Caches what was read by key, including missing rows. */
  learn(reads: readonly RowRead[], answers: ReadonlyMap<Read, FoundRow>): void {
    for (const read of reads) {
      this.#read.add(read.table)
      const answer = answers.get(read)
      this.#set(read.table, read.key, answer?.row, answer?.version ?? null)
    }
  }

  /** Marks rows that are being written: they are not used. */
  begin(changes: readonly NetChange[]): void {
    for (const { table, before } of changes) {
      const cached = before && this.#rows.get(table, before)
      if (cached) cached.isBusy = true
    }
  }

  /** Caches what was committed. */
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
 * Writes changes that were decided on cached rows, and checks those rows: first it locks the ones that were to be locked,
 * table by table; last it checks the others.
 */
export function checkAndWrite(
  reads: readonly RowRead[],
  found: readonly CachedRow[],
  changes: readonly NetChange[],
): Statement[] {
  const updates = new Map<Row, NetChange>()
  for (const change of changes) if (change.before) updates.set(change.before, change)
  const versions = new Map<NetChange, string | null>()
  const unlocked: UnlockedRow[] = []
  const locked = new Map<Table, { readonly rows: RowVersion[]; readonly updates: NetChange[] }>()
  for (const [index, { table, key, isLocked }] of reads.entries()) {
    const { row, version } = found[index]!
    const change = row && updates.get(row)
    if (change) versions.set(change, version)
    if (row && isLocked) {
      const own = locked.get(table) ?? { rows: [], updates: [] }
      locked.set(table, own)
      own.rows.push({ key, version })
      if (change) own.updates.push(change)
    } else if (!change) unlocked.push({ table, key, version })
  }
  const first: Statement[] = []
  const written = new Set<NetChange>()
  for (const [table, own] of [...locked].sort(([one], [other]) => one.lockOrder - other.lockOrder)) {
    if (own.updates.length < own.rows.length) first.push(lockUnchangedRows(table, own.rows))
    else {
      first.push(...writeStatements(own.updates, { versions }))
      for (const change of own.updates) written.add(change)
    }
  }
  const rest = changes.filter((change) => !written.has(change))
  return [...first, ...writeStatements(rest, { versions }), ...checkUnlocked(unlocked, changes)]
}

/** A row that was read without a lock. */
export interface UnlockedRow extends RowVersion {
  readonly table: Table
}

/**
 * Fails unless rows that were read without a lock are unchanged. Only the commit may follow, since a write may wait for a
 * lock. A missing row that is now added is checked by its primary key.
 */
export function checkUnlocked(
  rows: readonly UnlockedRow[],
  changes: readonly NetChange[],
  shardOf?: ShardOf,
): Statement[] {
  const missing = new Set(rows.flatMap(({ table, version }) => (version === null ? [table] : [])))
  const added = new KeyMap<true>()
  for (const { table, before, now } of changes) {
    if (now && !before && missing.has(table)) added.set(table, now, true)
  }
  // Without rows it still answers the id of the transaction.
  const byShard = new Map<number | undefined, Map<Table, RowVersion[]>>(
    shardOf ? [] : [[undefined, new Map()]],
  )
  for (const row of rows) {
    if (row.version === null && added.get(row.table, row.key)) continue
    const shard = shardOf?.(row.table, row.key)
    const byTable = byShard.get(shard) ?? new Map<Table, RowVersion[]>()
    byShard.set(shard, byTable)
    const own = byTable.get(row.table)
    if (own) own.push(row)
    else byTable.set(row.table, [row])
  }
  return [...byShard.values()].map((byTable) => checkVersions(byTable, shardOf !== undefined))
}

import type { NetChange } from '../driver.ts'
import type { Read, RowRead } from '../operation.ts'
import { RowCache } from '../row-cache.ts'
import type { Row, Table } from '../table.ts'
import { payments } from '../tables.ts'
import type { Answer } from './round-trip.ts'

/** What a read has found in the cache. */
export interface CachedRead {
  readonly read: RowRead
  /** Undefined if there was no row. */
  readonly row: Row | undefined
  /** The transaction that wrote it. */
  readonly version: string | null
}

/** A row as this process last read or wrote it. */
interface CachedRow extends Omit<CachedRead, 'read'> {
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
  find(reads: readonly Read[]): readonly CachedRead[] | undefined {
    const found: CachedRead[] = []
    for (const read of reads) {
      if (read.kind === 'range') return undefined
      const cached = this.#rows.get(read.table, read.key)
      if (!cached || cached.waits > 0) return undefined
      found.push({ read, row: cached.row, version: cached.version })
    }
    return found
  }

  /** Caches what was read by key; undefined for a missing row. */
  learn({ table, key }: RowRead, row: Row | undefined, version: string | null): void {
    this.#read.add(table)
    this.#set(table, key, row, version)
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
    this.#rows.set(table, key, { row, version, waits, penalty })
  }
}

const maxPenalty = 255

import { KeyMap } from './key-map.ts'
import type { Row, Table } from './table.ts'
import { payments } from './tables.ts'

/** The rows of a table that were used last, and those before them. */
interface Generations<Found> {
  young: KeyMap<Found>
  old: KeyMap<Found>
  /** The number of young rows. */
  count: number
}

/** Min number of cached rows of a table; the max is twice as many. For payments: those waiting for capture. */
const rowsPerTable = 8_192
const paymentRows = 32_768

/** A cache of rows by key. Rows that were not used recently are dropped. */
export class RowCache<Found> {
  /** By the table's position in the lock order. */
  readonly #tables: (Generations<Found> | undefined)[] = []

  /** Undefined if it is not cached. */
  get(table: Table, key: Row): Found | undefined {
    const generations = this.#tables[table.lockOrder]
    if (!generations) return undefined
    const found = generations.young.get(table, key)
    if (found !== undefined) return found
    const older = generations.old.get(table, key)
    if (older !== undefined) this.set(table, key, older)
    return older
  }

  set(table: Table, key: Row, found: Found): void {
    const generations = (this.#tables[table.lockOrder] ??= {
      young: new KeyMap(),
      old: new KeyMap(),
      count: 0,
    })
    if (!generations.young.set(table, key, found)) return
    generations.count += 1
    if (generations.count < (table === payments ? paymentRows : rowsPerTable)) return
    generations.old = generations.young
    generations.young = new KeyMap()
    generations.count = 0
  }

  forget(table: Table, key: Row): void {
    const generations = this.#tables[table.lockOrder]
    generations?.young.delete(table, key)
    generations?.old.delete(table, key)
  }
}

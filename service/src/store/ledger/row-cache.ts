import { KeyMap } from './key-map.ts'
import type { Table } from './table.ts'
import { payments } from './tables.ts'

type Row = Readonly<Record<string, unknown>>

interface Generation<Found> {
  readonly rows: KeyMap<Found>
  count: number
}

interface Generations<Found> {
  young: Generation<Found>
  old: Generation<Found>
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
    const found = generations.young.rows.get(table, key)
    if (found !== undefined) return found
    const older = generations.old.rows.get(table, key)
    if (older !== undefined) this.set(table, key, older)
    return older
  }

  set(table: Table, key: Row, found: Found): void {
    let generations = this.#tables[table.lockOrder]
    if (!generations) {
      generations = { young: newGeneration(), old: newGeneration() }
      this.#tables[table.lockOrder] = generations
    }
    if (!generations.young.rows.set(table, key, found)) return
    generations.young.count += 1
    if (generations.young.count < (table === payments ? paymentRows : rowsPerTable)) return
    generations.old = generations.young
    generations.young = newGeneration()
  }

  forget(table: Table, key: Row): void {
    const generations = this.#tables[table.lockOrder]
    generations?.young.rows.delete(table, key)
    generations?.old.rows.delete(table, key)
  }
}

function newGeneration<Found>(): Generation<Found> {
  return { rows: new KeyMap(), count: 0 }
}

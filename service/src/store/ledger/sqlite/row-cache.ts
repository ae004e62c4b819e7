import type { Table } from '../table.ts'
import type { Row } from './row-codec.ts'

type Rows = Map<string, Row | undefined>

/** So many rows of each table are kept, and at most twice as many. */
const rowsPerTable = 8_192

/** Rows as they are committed, by their keys; undefined for a key that has none. Those not asked for of late are forgotten. */
export class RowCache {
  readonly #tables = new Map<Table, { recent: Rows; older: Rows }>()

  /** The row of a key, which is looked up when it is not known. */
  find(table: Table, key: string, lookUp: () => Row | undefined): Row | undefined {
    const { recent, older } = this.#of(table)
    const row = recent.get(key)
    if (row || recent.has(key)) return row
    const found = older.has(key) ? older.get(key) : lookUp()
    this.set(table, key, found)
    return found
  }

  set(table: Table, key: string, row: Row | undefined): void {
    const rows = this.#of(table)
    rows.recent.set(key, row)
    if (rows.recent.size < rowsPerTable) return
    rows.older = rows.recent
    rows.recent = new Map()
  }

  #of(table: Table) {
    const known = this.#tables.get(table)
    if (known) return known
    const rows = { recent: new Map(), older: new Map() }
    this.#tables.set(table, rows)
    return rows
  }
}

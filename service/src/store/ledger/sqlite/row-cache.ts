import { KeyMap } from '../key-map.ts'
import type { Table } from '../table.ts'
import { payments } from '../tables.ts'
import type { Row } from './row-codec.ts'

/** A row with its number, where its table has numbers. */
export interface FoundRow {
  readonly row: Row
  readonly no: bigint | undefined
}

interface Generation {
  readonly rows: KeyMap<FoundRow | null>
  count: number
}

/** So many rows of a table are kept, and at most twice as many: of payments, those that wait to be captured. */
const rowsPerTable = 8_192
const paymentRows = 32_768

/** Rows as they are committed, or null for a key that has none. Those not asked for of late are forgotten. */
export class RowCache {
  readonly #tables = new Map<Table, { young: Generation; old: Generation }>()

  /** Undefined when it is not known. */
  get(table: Table, key: Row): FoundRow | null | undefined {
    const generations = this.#tables.get(table)
    if (!generations) return undefined
    const found = generations.young.rows.get(table, key)
    if (found !== undefined) return found
    const older = generations.old.rows.get(table, key)
    if (older !== undefined) this.set(table, key, older)
    return older
  }

  set(table: Table, key: Row, found: FoundRow | null): void {
    let generations = this.#tables.get(table)
    if (!generations) {
      generations = { young: newGeneration(), old: newGeneration() }
      this.#tables.set(table, generations)
    }
    const isKnown = generations.young.rows.get(table, key) !== undefined
    generations.young.rows.set(table, key, found)
    if (isKnown) return
    generations.young.count += 1
    if (generations.young.count < (table === payments ? paymentRows : rowsPerTable)) return
    generations.old = generations.young
    generations.young = newGeneration()
  }

  forget(table: Table, key: Row): void {
    const generations = this.#tables.get(table)
    generations?.young.rows.delete(table, key)
    generations?.old.rows.delete(table, key)
  }
}

function newGeneration(): Generation {
  return { rows: new KeyMap(), count: 0 }
}

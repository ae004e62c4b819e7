import { KeyMap } from './key-map.ts'
import type { Row, Table } from './table.ts'
import { payments } from './tables.ts'

interface Cached<Found> {
  found: Found
  length: number
}

/** The rows of a table that were used last, and those before them. */
interface Generations<Found> {
  young: KeyMap<Cached<Found>>
  old: KeyMap<Cached<Found>>
  /** The number of young rows. */
  count: number
  /** The length of their texts. */
  length: number
}

/** Min number of cached rows of a table; the max is twice as many. For payments: those waiting for capture. */
const rowsPerTable = 8_192
const paymentRows = 32_768

/** Fewer are cached if their texts together have more characters than this. */
const maxLength = 16 * 1024 * 1024

/** A cache of rows by key. Rows that were not used recently are dropped. */
export class RowCache<Found extends { readonly row: Row | undefined } | null> {
  /** By the table's position in the lock order. */
  readonly #tables: (Generations<Found> | undefined)[] = []

  /** Undefined if it is not cached. */
  get(table: Table, key: Row): Found | undefined {
    const generations = this.#tables[table.lockOrder]
    if (!generations) return undefined
    const cached = generations.young.get(table, key)
    if (cached) return cached.found
    const older = generations.old.get(table, key)
    if (older) this.set(table, key, older.found)
    return older?.found
  }

  /** Also called after the row of what was found has changed, so that its new length counts. */
  set(table: Table, key: Row, found: Found): void {
    const generations = (this.#tables[table.lockOrder] ??= {
      young: new KeyMap(),
      old: new KeyMap(),
      count: 0,
      length: 0,
    })
    const { young } = generations
    const length = found?.row ? lengthOfTexts(table, found.row) : 0
    const cached = young.get(table, key)
    if (cached) {
      generations.length += length - cached.length
      cached.found = found
      cached.length = length
    } else {
      young.set(table, key, { found, length })
      generations.count += 1
      generations.length += length
    }
    const maxCount = table === payments ? paymentRows : rowsPerTable
    if (generations.count < maxCount && generations.length < maxLength) return
    generations.old = young
    generations.young = new KeyMap()
    generations.count = 0
    generations.length = 0
  }

  forget(table: Table, key: Row): void {
    const generations = this.#tables[table.lockOrder]
    if (!generations) return
    generations.length -= generations.young.get(table, key)?.length ?? 0
    generations.young.delete(table, key)
    generations.old.delete(table, key)
  }
}

/** The length of the texts in a row, also in its lists. Its ids and numbers are short. */
function lengthOfTexts(table: Table, row: Row): number {
  let length = 0
  for (const name of textsOf(table)) length += lengthOf(row[name])
  return length
}

function textsOf(table: Table): readonly string[] {
  return (texts[table.lockOrder] ??= Object.entries(table.columns).flatMap(([name, { kind, vocabulary }]) =>
    kind === 'json' || (kind === 'text' && !vocabulary) ? [name] : [],
  ))
}

const texts: (readonly string[] | undefined)[] = []

function lengthOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 0
  const known = lengths.get(value)
  if (known !== undefined) return known
  const parts = Object.values(value)
  const length = parts.reduce<number>((sum, part) => sum + lengthOf(part), parts.length)
  lengths.set(value, length)
  return length
}

/** Lists never change, and most rows keep those of the row before. */
const lengths = new WeakMap<object, number>()

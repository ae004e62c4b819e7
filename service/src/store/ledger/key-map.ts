import type { Table } from './table.ts'

type Key = Readonly<Record<string, unknown>>

/** A map by row keys. It has a level per column, so that keys need not be joined into one text. */
export class KeyMap<Value> {
  #tables: (Tree | undefined)[] = []

  get(table: Table, key: Key): Value | undefined {
    return this.#levelOf(table, key)?.get(lastOf(table, key)) as Value | undefined
  }

  /** Whether the key was new. */
  set(table: Table, key: Key, value: Value): boolean {
    const tree = (this.#tables[table.lockOrder] ??= { root: new Map(), first: undefined, level: undefined })
    let level = tree.root
    for (let index = 0; index < table.key.length - 1; index++) {
      level = inside(level, partOf(key[table.key[index]!]))
    }
    const { size } = level
    return level.set(lastOf(table, key), value).size > size
  }

  /** Whether the key existed. */
  delete(table: Table, key: Key): boolean {
    return this.#levelOf(table, key)?.delete(lastOf(table, key)) ?? false
  }

  clear(): void {
    this.#tables = []
  }

  /** Maps the last column of a key to its value. */
  #levelOf(table: Table, key: Key): Level | undefined {
    const tree = this.#tables[table.lockOrder]
    const { length } = table.key
    if (!tree || length === 1) return tree?.root
    const first = key[table.key[0]!]
    if (length === 2 && tree.level && first === tree.first) return tree.level
    let level: Level | undefined = tree.root
    for (let index = 0; level && index < length - 1; index++) {
      level = level.get(partOf(key[table.key[index]!])) as Level | undefined
    }
    tree.first = first
    tree.level = level
    return level
  }
}

type Level = Map<unknown, unknown>

interface Tree {
  readonly root: Level
  /** The first column of the last key of two columns, and its level: most keys that follow have the same account. */
  first: unknown
  level: Level | undefined
}

/** The next level, created if missing. */
function inside(level: Level, part: unknown): Level {
  let next = level.get(part) as Level | undefined
  if (!next) {
    next = new Map()
    level.set(part, next)
  }
  return next
}

function lastOf({ key: names }: Table, key: Key): unknown {
  return partOf(key[names[names.length - 1]!])
}

/** Two byte arrays are the same key if their bytes are equal. */
function partOf(value: unknown): unknown {
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value
}

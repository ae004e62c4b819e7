import type { Row, Table } from './table.ts'

/** A map by row keys. It has a level per column, so that keys need not be joined into one text. */
export class KeyMap<Value> {
  readonly #tables: (Tree | undefined)[] = []

  get(table: Table, key: Row): Value | undefined {
    const tree = this.#tables[table.lockOrder]
    const level = tree && levelOf(tree, table, key)
    if (!level) return undefined
    const part = lastOf(table, key)
    if (level !== tree.foundIn || part !== tree.foundBy) {
      tree.found = level.get(part)
      tree.foundIn = level
      tree.foundBy = part
    }
    return tree.found as Value | undefined
  }

  /** Whether the key was new. */
  set(table: Table, key: Row, value: Value): boolean {
    const tree = (this.#tables[table.lockOrder] ??= newTree())
    tree.foundIn = undefined
    const level = levelOf(tree, table, key, true)!
    const { size } = level
    return level.set(lastOf(table, key), value).size > size
  }

  delete(table: Table, key: Row): void {
    const tree = this.#tables[table.lockOrder]
    if (!tree) return
    tree.foundIn = undefined
    levelOf(tree, table, key)?.delete(lastOf(table, key))
  }
}

type Level = Map<unknown, unknown>

interface Tree {
  readonly root: Level
  /** The first column of the last key of two columns, and its level: most keys that follow have the same account. */
  first: unknown
  level: Level | undefined
  /** What was last found, in which level and by which part: a call asks for some rows several times. */
  found: unknown
  foundIn: Level | undefined
  foundBy: unknown
}

function newTree(): Tree {
  const nothing = { level: undefined, found: undefined, foundIn: undefined, foundBy: undefined }
  return { root: new Map(), first: undefined, ...nothing }
}

/** Maps the last column of a key to its value. Undefined if it is missing and not created. */
function levelOf(tree: Tree, table: Table, key: Row, isCreated = false): Level | undefined {
  const { length } = table.key
  if (length === 1) return tree.root
  const first = key[table.key[0]!]
  if (length === 2 && tree.level && first === tree.first) return tree.level
  let level: Level | undefined = tree.root
  for (let index = 0; level && index < length - 1; index++) {
    const part = partOf(key[table.key[index]!])
    let next = level.get(part) as Level | undefined
    if (!next && isCreated) level.set(part, (next = new Map()))
    level = next
  }
  tree.first = first
  tree.level = level
  return level
}

function lastOf({ key: names }: Table, key: Row): unknown {
  return partOf(key[names[names.length - 1]!])
}

/** Two byte arrays are the same key if their bytes are equal. */
function partOf(value: unknown): unknown {
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value
}

import type { Row, Table } from './table.ts'

/** A map by row keys. It has a level per column, so that keys need not be joined into one text. */
export class KeyMap<Value> {
  readonly #tables: (Level | undefined)[] = []

  get(table: Table, key: Row): Value | undefined {
    const root = this.#tables[table.lockOrder]
    const level = root && levelOf(root, table, key)
    return level?.get(lastOf(table, key)) as Value | undefined
  }

  /** Whether the key was new. */
  set(table: Table, key: Row, value: Value): boolean {
    const root = (this.#tables[table.lockOrder] ??= new Map())
    const level = levelOf(root, table, key, true)!
    const { size } = level
    return level.set(lastOf(table, key), value).size > size
  }

  delete(table: Table, key: Row): void {
    const root = this.#tables[table.lockOrder]
    if (root) levelOf(root, table, key)?.delete(lastOf(table, key))
  }
}

type Level = Map<unknown, unknown>

/** Maps the last column of a key to its value. Undefined if it is missing and not created. */
function levelOf(root: Level, { key: names }: Table, key: Row, isCreated = false): Level | undefined {
  let level: Level | undefined = root
  for (let index = 0; level && index < names.length - 1; index++) {
    const part = partOf(key[names[index]!])
    let next = level.get(part) as Level | undefined
    if (!next && isCreated) level.set(part, (next = new Map()))
    level = next
  }
  return level
}

function lastOf({ key: names }: Table, key: Row): unknown {
  return partOf(key[names[names.length - 1]!])
}

/** Two byte arrays are the same key if their bytes are equal. */
function partOf(value: unknown): unknown {
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value
}

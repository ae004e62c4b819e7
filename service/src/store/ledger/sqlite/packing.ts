import { compile } from '../compiled-rows.ts'

/**
 * The fields of an object, in order. Those that are plain objects themselves have fields, too, so that the names in an operation's
 * call are sent once; the names in what they contain are sent each time.
 */
export type Fields = readonly { readonly name: string; readonly fields: Fields | undefined }[]

/** What the receiver needs before it can unpack: the label of a shape, and its fields if it is an object. */
export type Shape = readonly [label: string, fields: Fields | undefined]

/**
 * Values with their labels and numbers, in sequence: the shape of each, its number, and the values of its fields or the
 * value itself.
 */
export interface Parcel {
  /** New shapes. */
  readonly shapes: readonly Shape[]
  readonly items: readonly unknown[]
}

/**
 * How many shapes are kept. Tenants choose some names, such as those in metadata: objects with further ones are sent with their
 * names.
 */
const maxShapes = 1_000

/** How many shapes of a label are tried before the shape of a value is looked up by its names. */
const maxRecent = 8

/**
 * Packs messages for another thread. Copying objects between threads includes their field names, which costs
 * more than their values, so the names are sent once.
 */
export class Packer {
  readonly #shapes = new Map<string, number>()
  /** The shapes of objects by label, the last new one first. */
  readonly #recent = new Map<string, { readonly fields: Fields; readonly shape: number }[]>()
  #freshShapes: Shape[] = []
  #items: unknown[] = []
  #count = 0

  /** The number of packed values. */
  get count(): number {
    return this.#count
  }

  add(label: string, number: number, value: unknown): void {
    this.#count += 1
    if (isPlain(value) && (this.#packRecent(label, number, value) || this.#packNew(label, number, value)))
      return
    this.#items.push(this.#shapeOf(label, undefined), number, value)
  }

  #packRecent(label: string, number: number, value: Values): boolean {
    const items = this.#items
    const { length } = items
    for (const { fields, shape } of this.#recent.get(label) ?? []) {
      items.push(shape, number)
      if (pack(value, fields, items)) return true
      items.length = length
    }
    return false
  }

  #packNew(label: string, number: number, value: Values): boolean {
    const fields = fieldsOf(value, { isOuter: true })
    const shape = fields && this.#shapeOf(label, fields)
    if (!fields || shape === undefined) return false
    const recent = this.#recent.get(label) ?? []
    this.#recent.set(label, [{ fields, shape }, ...recent].slice(0, maxRecent))
    this.#items.push(shape, number)
    return pack(value, fields, this.#items)
  }

  /** What was packed since the last call. */
  take(): Parcel {
    const parcel = { shapes: this.#freshShapes, items: this.#items }
    this.#freshShapes = []
    this.#items = []
    this.#count = 0
    return parcel
  }

  #shapeOf(label: string, fields: Fields | undefined): number | undefined {
    const name = fields ? `${label}\0${JSON.stringify(fields)}` : label
    let shape = this.#shapes.get(name)
    if (shape === undefined && (!fields || this.#shapes.size < maxShapes)) {
      shape = this.#shapes.size
      this.#shapes.set(name, shape)
      this.#freshShapes.push([label, fields])
    }
    return shape
  }
}

type Values = Readonly<Record<string, unknown>>

/** Undefined if a name is not one of a program: it is not compiled. */
function fieldsOf(value: Values, { isOuter }: { readonly isOuter: boolean }): Fields | undefined {
  const names = Object.keys(value)
  if (!names.every((name) => /^[a-z]\w*$/i.test(name))) return undefined
  return names.map((name) => {
    const inner = value[name]
    return { name, fields: isOuter && isPlain(inner) ? fieldsOf(inner, { isOuter: false }) : undefined }
  })
}

/** Adds the values of an object's fields; false if it has others, or others of them are plain objects with known names. */
function pack(value: Values, fields: Fields, items: unknown[]): boolean {
  const names = Object.keys(value)
  if (names.length !== fields.length) return false
  for (let index = 0; index < names.length; index++) {
    const field = fields[index]!
    if (field.name !== names[index]) return false
    const inner = value[field.name]
    if (!field.fields) items.push(inner)
    else if (!isPlain(inner) || !pack(inner, field.fields, items)) return false
  }
  return true
}

function isPlain(value: unknown): value is Values {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
}

interface ShapeReader {
  readonly label: string
  readonly length: number
  /** Makes the value of items from a position on. */
  readonly read: (items: readonly unknown[], start: number) => unknown
}

/** Unpacks what a `Packer` has packed. */
export class Unpacker {
  readonly #shapes: ShapeReader[] = []

  /** Passes on each value, in order. */
  unpack({ shapes, items }: Parcel, take: (label: string, number: number, value: unknown) => void): void {
    for (const shape of shapes) this.#shapes.push(readerOf(shape))
    for (let next = 0; next < items.length;) {
      const { label, length, read } = this.#shapes[items[next] as number]!
      take(label, items[next + 1] as number, read(items, next + 2))
      next += 2 + length
    }
  }
}

/** Compiles a literal, because an object that a loop builds becomes a hash table if it has many fields. */
function readerOf([label, fields]: Shape): ShapeReader {
  if (!fields) return { label, length: 1, read: (items, start) => items[start] }
  let length = 0
  const literal = (of: Fields): string =>
    `{ ${of.map(({ name, fields: inner }) => `${name}: ${inner ? literal(inner) : `items[start + ${length++}]`}`).join(', ')} }`
  const text = `(items, start) => (${literal(fields)})`
  return { label, length, read: compile([], text) as ShapeReader['read'] }
}

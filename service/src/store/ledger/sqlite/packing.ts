/** What the receiver needs before it can unpack: the label of a shape, and its fields if it is an object. */
export type Shape = readonly [label: string, fields: readonly string[] | undefined]

/**
 * Values with their labels and numbers, in sequence: the shape of each, its number, and its fields or the
 * value itself.
 */
export interface Parcel {
  /** New shapes. */
  readonly shapes: readonly Shape[]
  readonly items: readonly unknown[]
}

/**
 * Packs messages for another thread. Copying objects between threads includes their field names, which costs
 * more than their values, so the names are sent once.
 */
export class Packer {
  readonly #shapes = new Map<string, number>()
  /** The last shape of each label. */
  readonly #latest = new Map<
    string,
    { readonly fields: readonly string[] | undefined; readonly shape: number }
  >()
  #freshShapes: Shape[] = []
  #items: unknown[] = []
  #count = 0

  /** The number of packed values. */
  get count(): number {
    return this.#count
  }

  add(label: string, number: number, value: unknown): void {
    this.#count += 1
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      this.#items.push(this.#shapeOf(label, undefined), number, value)
      return
    }
    const fields = Object.keys(value)
    this.#items.push(this.#shapeOf(label, fields), number)
    for (const field of fields) this.#items.push((value as Readonly<Record<string, unknown>>)[field])
  }

  /** What was packed since the last call. */
  take(): Parcel {
    const parcel = { shapes: this.#freshShapes, items: this.#items }
    this.#freshShapes = []
    this.#items = []
    this.#count = 0
    return parcel
  }

  #shapeOf(label: string, fields: readonly string[] | undefined): number {
    const latest = this.#latest.get(label)
    if (latest && areSame(latest.fields, fields)) return latest.shape
    const name = fields ? `${label}\0${fields.join()}` : label
    let shape = this.#shapes.get(name)
    if (shape === undefined) {
      shape = this.#shapes.size
      this.#shapes.set(name, shape)
      this.#freshShapes.push([label, fields])
    }
    this.#latest.set(label, { fields, shape })
    return shape
  }
}

function areSame(some: readonly string[] | undefined, others: readonly string[] | undefined): boolean {
  if (some?.length !== others?.length) return false
  return some === undefined || some.every((field, index) => field === others?.[index])
}

/** Unpacks what a `Packer` has packed. */
export class Unpacker {
  readonly #shapes: Shape[] = []

  /** Passes on each value, in order. */
  unpack({ shapes, items }: Parcel, take: (label: string, number: number, value: unknown) => void): void {
    this.#shapes.push(...shapes)
    let next = 0
    while (next < items.length) {
      const shape = this.#shapes[items[next++] as number]
      if (!shape) throw new Error('a shape is not known')
      const [label, fields] = shape
      const number = items[next++] as number
      if (!fields) {
        take(label, number, items[next++])
        continue
      }
      const value: Record<string, unknown> = {}
      for (const field of fields) value[field] = items[next++]
      take(label, number, value)
    }
  }
}

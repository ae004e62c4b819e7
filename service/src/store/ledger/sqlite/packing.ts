/** A value with a label: the number of its shape, and then the values of its fields, or the value itself. */
export type Packed = readonly [shape: number, ...values: unknown[]]

/** What the other side must learn before it can unpack: the label of a shape, and its fields where it is an object. */
export type Shape = readonly [label: string, fields: readonly string[] | undefined]

/**
 * Packs what goes to another thread. There objects are copied with the names of their fields, which costs more than their
 * values: so the names are sent once.
 */
export class Packer {
  readonly #shapes = new Map<string, number>()
  #fresh: Shape[] = []

  pack(label: string, value: unknown): Packed {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      return [this.#numberOf(label, undefined), value]
    }
    return [
      this.#numberOf(label, Object.keys(value)),
      ...Object.values(value as Readonly<Record<string, unknown>>),
    ]
  }

  /** The shapes that were met since this was last asked. */
  takeFresh(): readonly Shape[] {
    const fresh = this.#fresh
    this.#fresh = []
    return fresh
  }

  #numberOf(label: string, fields: readonly string[] | undefined): number {
    const name = fields ? `${label}\0${fields.join()}` : label
    const known = this.#shapes.get(name)
    if (known !== undefined) return known
    const number = this.#shapes.size
    this.#shapes.set(name, number)
    this.#fresh.push([label, fields])
    return number
  }
}

/** Unpacks what a `Packer` has packed. */
export class Unpacker {
  readonly #shapes: Shape[] = []

  learn(shapes: readonly Shape[]): void {
    this.#shapes.push(...shapes)
  }

  unpack(packed: Packed): { readonly label: string; readonly value: unknown } {
    const shape = this.#shapes[packed[0]]
    if (!shape) throw new Error(`the shape ${packed[0]} is not known`)
    const [label, fields] = shape
    if (!fields) return { label, value: packed[1] }
    const value: Record<string, unknown> = {}
    for (const [index, field] of fields.entries()) value[field] = packed[index + 1]
    return { label, value }
  }
}

/** A cache of the most recently used entries. */
export class RecentlyUsed<Value> {
  readonly #max: number
  /** The least recently used entry comes first. */
  readonly #entries = new Map<string, Value>()

  constructor({ max }: { readonly max: number }) {
    this.#max = max
  }

  get(key: string): Value | undefined {
    const value = this.#entries.get(key)
    if (value !== undefined) this.set(key, value)
    return value
  }

  set(key: string, value: Value): void {
    this.#entries.delete(key)
    this.#entries.set(key, value)
    if (this.#entries.size > this.#max) this.#entries.delete(this.#entries.keys().next().value ?? '')
  }

  delete(key: string): void {
    this.#entries.delete(key)
  }
}

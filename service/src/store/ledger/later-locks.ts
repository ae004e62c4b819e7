/** Max remembered calls. */
const maxCalls = 65_536

/**
 * Which rows a call has locked after the row that it locks first: a proof locks the shared budgets of its
 * mandate, for example. Lanes use it to avoid each other's rows. After a change of the budgets it is wrong
 * until the next call, so no decision relies on it.
 */
export class LaterLocks {
  /** By the operation, and the name of the row that it locks first. */
  readonly #later = new Map<string, readonly string[]>()

  get isEmpty(): boolean {
    return this.#later.size === 0
  }

  of(operation: string, first: string): readonly string[] {
    return (this.#later.size > 0 && this.#later.get(`${operation} ${first}`)) || []
  }

  note(operation: string, [first, ...later]: readonly string[]): void {
    const call = `${operation} ${first}`
    if (later.length === 0) {
      this.#later.delete(call)
      return
    }
    if (this.#later.size >= maxCalls) this.#later.clear()
    this.#later.set(call, later)
  }
}

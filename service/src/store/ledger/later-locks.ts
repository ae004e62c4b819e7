/** Max remembered rows. */
const maxRows = 65_536

/**
 * Which rows calls have locked after the row that they lock first: the shared budgets of a mandate, for example. Lanes
 * use it to leave each other's rows alone. It may be out of date, so nothing is decided by it.
 */
export class LaterLocks {
  readonly #laterByFirst = new Map<string, readonly string[]>()

  knows(first: string): boolean {
    return this.#laterByFirst.has(first)
  }

  after(first: string): readonly string[] {
    return this.#laterByFirst.get(first) ?? []
  }

  note([first, ...later]: readonly string[]): void {
    if (first === undefined) return
    if (this.#laterByFirst.size >= maxRows) this.#laterByFirst.clear()
    this.#laterByFirst.set(first, later)
  }
}

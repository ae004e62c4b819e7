/**
 * Where a merchant keeps what became of the proofs that it was shown. Processes that share a store serve each other's
 * customers: `fileDeliveries` of `@purser/merchant/file-store`, `sqliteDeliveries` of `@purser/merchant/sqlite-store`, or
 * your own over Redis or a database.
 */
export interface DeliveryStore {
  /** The text that is kept under an id (64 hexadecimal digits); undefined when there is none, or its time is over. */
  read(id: string): string | undefined | Promise<string | undefined>
  /**
   * Puts `to` in the place of `from`, in one atomic step, if `from` is still what `read` would give; undefined stands for
   * nothing. Resolves to whether it was replaced. Of many processes that replace the same `from`, one succeeds.
   */
  replace(id: string, from: string | undefined, to: KeptDelivery | undefined): boolean | Promise<boolean>
}

/** A text of at most 150 characters, to be kept until a time. */
export interface KeptDelivery {
  readonly text: string
  /** Milliseconds since 1970. */
  readonly keepUntilMs: number
  /** What to forget first when a store is full: `doubtful`, then `ended`, then `paid`; the oldest first. */
  readonly worth: Worth
}

export type Worth = 'doubtful' | 'ended' | 'paid'

const maxKeptOfEach = 10_000

/** A store of this process: 10,000 deliveries of each worth, some 10 MB when full. */
export function keepInProcess({ now = Date.now, max = maxKeptOfEach } = {}): DeliveryStore {
  // A map keeps the order of insertion, so the oldest come first.
  const shelves: Readonly<Record<Worth, Map<string, KeptDelivery>>> = {
    doubtful: new Map(),
    ended: new Map(),
    paid: new Map(),
  }
  const all = Object.values(shelves)

  function read(id: string): string | undefined {
    const found = all.find((shelf) => shelf.has(id))?.get(id)
    return found && found.keepUntilMs > now() ? found.text : undefined
  }

  return {
    read,
    replace(id, from, to) {
      if (read(id) !== from) return false
      for (const shelf of all) shelf.delete(id)
      if (!to) return true
      const shelf = shelves[to.worth]
      for (const [oldest, { keepUntilMs }] of shelf) {
        if (shelf.size < max && keepUntilMs > now()) break
        shelf.delete(oldest)
      }
      shelf.set(id, to)
      return true
    },
  }
}

/**
 * Stores the deliveries of proofs. Processes that share a store serve each other's customers:
 * `fileDeliveries` of `@purser/merchant/file-store`, `sqliteDeliveries` of `@purser/merchant/sqlite-store`,
 * or your own over Redis or a database.
 */
export interface DeliveryStore {
  /**
   * The text stored under an id (64 hexadecimal digits); undefined if there is none, or if it has expired.
   */
  read(id: string): string | undefined | Promise<string | undefined>
  /**
   * Atomically replaces `from` with `to`, if `read` would still return `from`; undefined means no value.
   * Resolves to whether it was replaced. If many processes replace the same `from`, exactly one succeeds.
   */
  replace(id: string, from: string | undefined, to: KeptDelivery | undefined): boolean | Promise<boolean>
}

/** A text of at most 150 characters, with an expiry. */
export interface KeptDelivery {
  readonly text: string
  /** Milliseconds since 1970. */
  readonly keepUntilMs: number
  /** Eviction order of a full store: `doubtful`, then `ended`, then `paid`; oldest first. */
  readonly worth: Worth
}

export type Worth = 'doubtful' | 'ended' | 'paid'

const maxKeptOfEach = 10_000

/** An in-memory store: 10,000 deliveries of each worth, about 10 MB when full. */
export function keepInProcess({ now = Date.now, max = maxKeptOfEach } = {}): DeliveryStore {
  // Maps keep insertion order, so the oldest come first.
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

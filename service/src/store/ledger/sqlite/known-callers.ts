import type { Caller } from '../../../domain/records.ts'

interface Known {
  readonly caller: Caller
  /** Whether the key itself is durable: a later commit in progress does not concern it. */
  isDurable: boolean
}

export interface KnownCallersOptions {
  /** The caller of the key with this hash, as committed now. */
  readonly lookUp: (secretHash: Buffer) => Caller | undefined
  /** Waits until everything committed so far is durable, if it is not yet. */
  readonly untilDurable: () => Promise<void> | undefined
}

/** The callers of keys that were looked up since a key last changed (decision 2). */
export class KnownCallers {
  readonly #options: KnownCallersOptions
  /**
   * Keyed by the hash's buffer object, which the authentication caches for each key, so no request hashes
   * again.
   */
  #known = new WeakMap<Buffer, Known>()

  constructor(options: KnownCallersOptions) {
    this.#options = options
  }

  /**
   * The caller of the key with this hash; undefined if there is none. A promise only if there is something to
   * wait for.
   */
  find(secretHash: Buffer): Caller | Promise<Caller | undefined> {
    const known = this.#known.get(secretHash)
    return known?.isDurable ? known.caller : this.#onceDurable(known ?? this.#lookUp(secretHash))
  }

  /** Call this when a key may have changed, before the change is answered. */
  forget(): void {
    this.#known = new WeakMap()
  }

  async #onceDurable(known: Known | undefined): Promise<Caller | undefined> {
    await this.#options.untilDurable()
    if (!known) return undefined
    known.isDurable = true
    return known.caller
  }

  #lookUp(secretHash: Buffer): Known | undefined {
    const caller = this.#options.lookUp(secretHash)
    if (!caller) return undefined
    const known = { caller, isDurable: false }
    this.#known.set(secretHash, known)
    return known
  }
}

import type { Caller } from '../../../domain/records.ts'

interface Known {
  readonly caller: Caller
  /** Whether the disk has the key too: a later commit that is under way has nothing to do with it. */
  isDurable: boolean
}

export interface KnownCallersOptions {
  /** The caller of the key with this hash, as it is committed now. */
  readonly lookUp: (secretHash: Buffer) => Caller | undefined
  /** Waits until everything is durable that was committed so far, if anything is not. */
  readonly untilDurable: () => Promise<void> | undefined
}

/** The callers of keys that were looked up since a key was last changed (decision 2). */
export class KnownCallers {
  readonly #options: KnownCallersOptions
  /** By the very buffer with the hash, which who asks keeps for each key: so nothing is hashed for each request. */
  #known = new WeakMap<Buffer, Known>()

  constructor(options: KnownCallersOptions) {
    this.#options = options
  }

  /** Who is let in by the key with this hash; undefined when nobody is. A promise only where there is something to wait for. */
  find(secretHash: Buffer): Caller | Promise<Caller | undefined> {
    const known = this.#known.get(secretHash)
    return known?.isDurable ? known.caller : this.#onceDurable(known ?? this.#lookUp(secretHash))
  }

  /** To be called when a key may have changed, before the change is answered for. */
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

import type { Caller } from '../../../domain/records.ts'

/** Most callers that are remembered. */
const maxKnown = 1_000

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

/** The callers of keys that were looked up since a key was last changed (decision 0002). */
export class KnownCallers {
  readonly #options: KnownCallersOptions
  readonly #known = new Map<string, Known>()

  constructor(options: KnownCallersOptions) {
    this.#options = options
  }

  /** Who is let in by the key with this hash; undefined when nobody is. A promise only where there is something to wait for. */
  find(secretHash: Buffer): Caller | Promise<Caller | undefined> {
    const text = secretHash.toString('latin1')
    const known = this.#known.get(text) ?? this.#lookUp(secretHash, text)
    return known?.isDurable ? known.caller : this.#onceDurable(known)
  }

  async #onceDurable(known: Known | undefined): Promise<Caller | undefined> {
    await this.#options.untilDurable()
    if (!known) return undefined
    known.isDurable = true
    return known.caller
  }

  /** To be called when a key may have changed, before the change is answered for. */
  forget(): void {
    this.#known.clear()
  }

  #lookUp(secretHash: Buffer, text: string): Known | undefined {
    const caller = this.#options.lookUp(secretHash)
    if (!caller) return undefined
    if (this.#known.size >= maxKnown) this.#known.clear()
    const known = { caller, isDurable: false }
    this.#known.set(text, known)
    return known
  }
}

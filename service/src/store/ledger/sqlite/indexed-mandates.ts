import type { Ledger } from '../ledger.ts'
import type { Operation } from '../operation.ts'
import type { SqliteLedger } from './ledger-thread.ts'

/** The calls for one mandate. */
interface Calls {
  underWay: number
  /** The number of the last one that began. */
  last: number
}

/** Max mandates whose calls are known, and max mandates of which more is. */
const maxCalled = 65_536
const maxKnown = 8_192

/**
 * The ledger, with what is known of its index of entries: those of a mandate are indexed on demand, and need not be again until
 * the next call for the mandate. So long something may be known of it.
 */
export class IndexedMandates<Known> implements Pick<Ledger, 'run'> {
  readonly #ledger: Pick<SqliteLedger, 'run' | 'indexEntries'>
  readonly #indexed = new Map<string, Known | undefined>()
  readonly #calls = new Map<string, Calls>()
  #lastCall = 0
  #forgottenAt = 0

  constructor(ledger: Pick<SqliteLedger, 'run' | 'indexEntries'>) {
    this.#ledger = ledger
  }

  run<Call, Outcome>(operation: Operation<Call, Outcome>, call: Call): Promise<Outcome> {
    const mandateId = mandateOf(call)
    const outcome = this.#ledger.run(operation, call)
    if (mandateId === undefined) return outcome
    const calls = this.#begin(mandateId)
    const end = () => void (calls.underWay -= 1)
    outcome.then(end, end)
    return outcome
  }

  /** What is known of the mandate since its last call. */
  knownOf(mandateId: string): Known | undefined {
    return this.#indexed.get(mandateId)
  }

  /** Keeps what has been read of the mandate, unless a call for it is under way. */
  know(mandateId: string, known: Known): void {
    if (this.#indexed.has(mandateId)) this.#indexed.set(mandateId, known)
  }

  #begin(mandateId: string): Calls {
    if (this.#indexed.size > 0) this.#indexed.delete(mandateId)
    let calls = this.#calls.get(mandateId)
    if (!calls) {
      if (this.#calls.size >= maxCalled) this.#forget()
      calls = { underWay: 0, last: 0 }
      this.#calls.set(mandateId, calls)
    }
    calls.underWay += 1
    calls.last = ++this.#lastCall
    return calls
  }

  #forget(): void {
    for (const [id, { underWay }] of this.#calls) if (underWay === 0) this.#calls.delete(id)
    this.#indexed.clear()
    this.#forgottenAt = this.#lastCall
  }

  /** Undefined when all entries of the mandates are indexed that were answered. */
  indexEntries(mandateIds: readonly string[]): Promise<void> | undefined {
    const missing = mandateIds.filter((id) => !this.#indexed.has(id))
    return missing.length === 0 ? undefined : this.#index(missing)
  }

  async #index(mandateIds: readonly string[]): Promise<void> {
    const asked = this.#lastCall
    const atRest = mandateIds.filter((id) => (this.#calls.get(id)?.underWay ?? 0) === 0)
    await this.#ledger.indexEntries(mandateIds)
    if (this.#forgottenAt > asked) return
    if (this.#indexed.size >= maxKnown) this.#indexed.clear()
    for (const id of atRest) if ((this.#calls.get(id)?.last ?? 0) <= asked) this.#indexed.set(id, undefined)
  }
}

/** The mandate that a call is for, where it adds entries of one. */
function mandateOf(call: unknown): string | undefined {
  const { mandateId, hold } = call as {
    readonly mandateId?: string
    readonly hold?: { readonly mandateId: string }
  }
  return mandateId ?? hold?.mandateId
}

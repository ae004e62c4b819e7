import type { Ledger } from '../ledger.ts'
import type { Operation } from '../operation.ts'
import type { SqliteLedger } from './ledger-thread.ts'

/** Max cached mandates. */
const maxKnown = 8_192

/**
 * The ledger, with a cache about its index of entries: the entries of a mandate are indexed on demand, and
 * stay complete until the next call for the mandate. Other facts about it may be cached until then too.
 */
export class IndexedMandates<Known> implements Pick<Ledger, 'run'> {
  readonly #ledger: Pick<SqliteLedger, 'run' | 'callsUnderWay' | 'indexEntries'>
  readonly #indexed = new Map<string, Known | undefined>()
  /** The mandates being indexed, without those for which a call was made in the meantime. */
  readonly #indexing = new Set<Set<string>>()

  constructor(ledger: Pick<SqliteLedger, 'run' | 'callsUnderWay' | 'indexEntries'>) {
    this.#ledger = ledger
  }

  run<Call, Outcome>(operation: Operation<Call, Outcome>, call: Call): Promise<Outcome> {
    const mandateId = mandateOf(call)
    if (mandateId === undefined) return this.#runForUnknown(operation, call)
    this.#forget(mandateId)
    return this.#ledger.run(operation, call)
  }

  /** If the outcome names a mandate, the call was for that one. */
  async #runForUnknown<Call, Outcome>(operation: Operation<Call, Outcome>, call: Call): Promise<Outcome> {
    const outcome = await this.#ledger.run(operation, call)
    const mandateId = mandateOf(outcome)
    if (mandateId !== undefined) this.#forget(mandateId)
    return outcome
  }

  /** What is cached of the mandate since its last call. */
  knownOf(mandateId: string): Known | undefined {
    return this.#indexed.get(mandateId)
  }

  /** Caches what was read of the mandate, unless a call for it is in progress. */
  know(mandateId: string, known: Known): void {
    if (this.#indexed.has(mandateId)) this.#indexed.set(mandateId, known)
  }

  #forget(mandateId: string): void {
    if (this.#indexed.size > 0) this.#indexed.delete(mandateId)
    for (const mandateIds of this.#indexing) mandateIds.delete(mandateId)
  }

  /** Undefined if all answered entries of the mandates are indexed. */
  indexEntries(mandateIds: readonly string[]): Promise<void> | undefined {
    const missing = mandateIds.filter((id) => !this.#indexed.has(id))
    return missing.length === 0 ? undefined : this.#index(missing)
  }

  async #index(mandateIds: readonly string[]): Promise<void> {
    const atRest = new Set(mandateIds)
    for (const call of this.#ledger.callsUnderWay()) atRest.delete(mandateOf(call) ?? '')
    this.#indexing.add(atRest)
    try {
      await this.#ledger.indexEntries(mandateIds)
    } finally {
      this.#indexing.delete(atRest)
    }
    if (this.#indexed.size >= maxKnown) this.#indexed.clear()
    for (const id of atRest) this.#indexed.set(id, undefined)
  }
}

/** The mandate of a call or an outcome: if a call adds entries, one of the two has one of these fields. */
export function mandateOf(callOrOutcome: unknown): string | undefined {
  if (typeof callOrOutcome !== 'object') return undefined
  const { mandateId, hold } = (callOrOutcome ?? {}) as {
    readonly mandateId?: string
    readonly hold?: { readonly mandateId: string }
  }
  return mandateId ?? hold?.mandateId
}

import type { Scope } from '../service/src/domain/records.ts'
import type { LedgerFault, Store } from '../service/src/store/store.ts'

/** What a service reports about its ledger. */
export interface LedgerReport {
  readonly faults: readonly LedgerFault[]
  /** The sum of what all mandates have spent. */
  readonly spentMicro: bigint
}

/** What a store reports about its ledger, whose account has this many mandates. */
export async function reportLedger(store: Store, owner: Scope, mandates: number): Promise<LedgerReport> {
  const faults = await store.findLedgerFaults()
  const { items } = await store.listMandates(owner, {}, { limit: mandates + 1 })
  return { faults, spentMicro: items.reduce((sum, mandate) => sum + mandate.spentMicro, 0n) }
}

/** The payment of every flow, in millionths of a unit. */
const paymentMicro = 1_000_000n

/** Counts what clients were told, and compares it with the ledgers. */
export class LedgerCheck {
  readonly #captured = new Map<string, number>()
  #checks = 0
  readonly #faults: string[] = []

  get checks(): number {
    return this.#checks
  }

  get faults(): readonly string[] {
    return this.#faults
  }

  /** Call this when a service starts a new ledger. */
  begin(service: string): void {
    this.#captured.set(service, 0)
  }

  /** Call this when clients were told this many times that a payment is verified. */
  count(service: string, captured: number): void {
    this.#captured.set(service, (this.#captured.get(service) ?? 0) + captured)
  }

  /** Whether every sum agrees with its records, and the total with what clients were told. */
  check(service: string, { faults, spentMicro }: LedgerReport): void {
    this.#checks++
    const captured = BigInt(this.#captured.get(service) ?? 0)
    if (spentMicro !== captured * paymentMicro) {
      this.#faults.push(`${service}: ${captured} payments of 1.00 were verified, ${spentMicro} µ are spent`)
    }
    for (const { subjectId, fault } of faults) this.#faults.push(`${service}: ${subjectId}: ${fault}`)
  }
}

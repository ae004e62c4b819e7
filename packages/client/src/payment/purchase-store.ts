import type { Proof } from '../wire-types.ts'
import type { PaymentChallenge } from './challenge.ts'
import type { PaymentResult } from './payment-result.ts'

/** An answer that was paid for, as text and numbers only. */
export interface KeptAnswer {
  readonly status: number
  readonly statusText: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly url: string
  /** The body, in base64. */
  readonly body: string
}

/** How far a purchase has come. */
export type PurchaseStep =
  /** A proof may have been asked for; none was shown. */
  | { readonly kind: 'asking'; readonly challenge: PaymentChallenge }
  /** The proof may have been shown, and charged. */
  | { readonly kind: 'paying'; readonly challenge: PaymentChallenge; readonly proof: Proof }
  /** The goods are here. */
  | {
      readonly kind: 'delivered'
      readonly result: Omit<PaymentResult, 'receipt'>
      readonly answer: KeptAnswer
    }
  /** The proof was not charged and never will be, so the purchase may begin anew. */
  | { readonly kind: 'over' }

/** What is remembered of a purchase; it survives `JSON.stringify`. It holds proofs and goods, so keep it private. */
export interface PurchaseRecord {
  readonly purchaseId: string
  /** Counts up from 1 with every change. */
  readonly revision: number
  /** Counts up from 1 with every proof. */
  readonly attempt: number
  /** Equal for the same request. */
  readonly fingerprint: string
  /** Milliseconds since 1970. */
  readonly changedAtMs: number
  readonly step: PurchaseStep
}

/** Remembers purchases. Several processes may share one; only one of them can write each revision. */
export interface PurchaseStore {
  /** The record with the highest revision; undefined when there is none. */
  readonly find: (purchaseId: string) => Promise<PurchaseRecord | undefined>
  /**
   * Keeps a record in place of the one with the revision before. It must be durable when this resolves. Resolves to false,
   * and keeps nothing, when that revision or a higher one exists.
   */
  readonly save: (record: PurchaseRecord) => Promise<boolean>
}

export interface PurchaseMemoryOptions {
  /** How many purchases are remembered; 1,000 when left out. The oldest that is settled is forgotten first. */
  readonly maxPurchases?: number | undefined
  /** How many bytes of goods are remembered; 64 MiB when left out. */
  readonly maxBytes?: number | undefined
  readonly now?: (() => number) | undefined
}

/**
 * A store that ends with the process. What it forgets could be bought again.
 *
 * @example
 * const fetchPaid = wrapFetchWithPayment(fetch, { client, purchases: createPurchaseMemory() })
 * await fetchPaid('https://api.example.com/data', { purchaseId: 'report-2026-11' })
 */
export function createPurchaseMemory(options: PurchaseMemoryOptions = {}): PurchaseStore {
  const { maxPurchases = 1000, maxBytes = 64 * 1024 * 1024, now = Date.now } = options
  const records = new Map<string, PurchaseRecord>()
  let bytes = 0

  function drop(record: PurchaseRecord): void {
    if (records.delete(record.purchaseId)) bytes -= sizeOf(record)
  }

  return {
    find: (purchaseId) => Promise.resolve(records.get(purchaseId)),
    save: (record) => {
      const before = records.get(record.purchaseId)
      if (before && before.revision >= record.revision) return Promise.resolve(false)
      if (before) drop(before)
      records.set(record.purchaseId, record)
      bytes += sizeOf(record)
      for (const oldest of records.values()) {
        if (records.size <= maxPurchases && bytes <= maxBytes) break
        if (oldest !== record && isForgettable(oldest, now())) drop(oldest)
      }
      if (records.size <= maxPurchases) return Promise.resolve(true)
      drop(record)
      if (before) records.set(before.purchaseId, before)
      return Promise.reject(new Error('Too many purchases are under way; wait until some of them have ended'))
    },
  }
}

/** Longer than a proof can be charged, in milliseconds. */
const chargedWithinMs = 10 * 60_000

function isForgettable({ step, changedAtMs }: PurchaseRecord, nowMs: number): boolean {
  return step.kind === 'delivered' || step.kind === 'over' || nowMs - changedAtMs > chargedWithinMs
}

function sizeOf({ step }: PurchaseRecord): number {
  return step.kind === 'delivered' ? step.answer.body.length : 0
}

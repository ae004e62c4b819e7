import type { Proof } from '../wire-types.ts'
import type { PaymentChallenge } from './challenge.ts'
import type { PaymentResult } from './payment-result.ts'

/** A paid response, serialized as strings and numbers. */
export interface KeptAnswer {
  readonly status: number
  readonly statusText: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly url: string
  /** The body, in base64. */
  readonly body: string
}

/** The progress of a purchase. */
export type PurchaseStep =
  /** A proof may have been requested; none was sent. */
  | { readonly kind: 'asking'; readonly challenge: PaymentChallenge }
  /** The proof may have been sent, and charged. */
  | {
      readonly kind: 'paying'
      readonly challenge: PaymentChallenge
      readonly proof: Proof
      /** The processes that are sending it. While others do, none starts over: the goods may be on their way to them. */
      readonly senders: readonly PurchaseSender[]
    }
  /** The goods have arrived. */
  | {
      readonly kind: 'delivered'
      readonly result: Omit<PaymentResult, 'receipt'>
      readonly answer: KeptAnswer
    }
  /** The proof was not charged and never will be, so the purchase can start over. */
  | { readonly kind: 'over' }

/** A process that is sending a proof. */
export interface PurchaseSender {
  readonly id: string
  /** Milliseconds since 1970: after this it counts as crashed. Moved ahead while it is sending. */
  readonly untilMs: number
}

/** The stored record of a purchase, as plain JSON. It contains proofs and goods, so keep it private. */
export interface PurchaseRecord {
  readonly purchaseId: string
  /** Starts at 1 and increases with every change. */
  readonly revision: number
  /** Starts at 1 and increases with every proof. */
  readonly attempt: number
  /** Equal for the same request. */
  readonly fingerprint: string
  /** Milliseconds since 1970. */
  readonly changedAtMs: number
  readonly step: PurchaseStep
}

/** Stores purchases. Several processes may share a store; only one of them can write each revision. */
export interface PurchaseStore {
  /** The record with the highest revision; undefined if there is none. */
  readonly find: (purchaseId: string) => Promise<PurchaseRecord | undefined>
  /**
   * Replaces the record with the previous revision. It must be durable when this resolves. Resolves to false,
   * without saving, if that revision or a higher one exists.
   */
  readonly save: (record: PurchaseRecord) => Promise<boolean>
}

export interface PurchaseMemoryOptions {
  /** Max number of purchases; default 1,000. The oldest settled purchase is removed first. */
  readonly maxPurchases?: number | undefined
  /** Max bytes of goods; default 64 MiB. */
  readonly maxBytes?: number | undefined
  readonly now?: (() => number) | undefined
}

/**
 * An in-memory store. Purchases that it has removed could be bought again.
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
      return Promise.reject(new Error('Too many purchases are in progress; wait until some have finished'))
    },
  }
}

/**
 * Longer than a purchase can be charged after its record has changed, in milliseconds: with an unsent proof, which expires
 * after six minutes; and with a sent one, which a merchant may authorize, and charge within a day.
 */
export const chargedWithinMs = { asking: 10 * 60_000, paying: 25 * 60 * 60_000 }

function isForgettable({ step, changedAtMs }: PurchaseRecord, nowMs: number): boolean {
  return step.kind === 'delivered' || step.kind === 'over' || nowMs - changedAtMs > chargedWithinMs[step.kind]
}

function sizeOf({ step }: PurchaseRecord): number {
  return step.kind === 'delivered' ? step.answer.body.length : 0
}

import { Failure } from '../failure.ts'

/** What a payment is for. */
export interface Bill {
  readonly amount: string
  readonly currency: string
  readonly resource_url: string
  readonly merchant_domain: string
  readonly mandate_id: string
}

/** The record of a purchase, from the moment it may be charged. */
export interface PurchaseRecord {
  readonly purchaseId: string
  /** Starts at 0; an attempt that was not charged is followed by the next one. */
  readonly attempt: number
  /** Equal for equal orders; see `order.ts`. */
  readonly fingerprint: string
  /** Identifies the payment at the service; null if there was nothing to pay. */
  readonly nonce: string | null
  readonly bill: Bill | null
  readonly begunAt: string
  /** Whether the goods arrived, so that the purchase is not made again even if its proof expires uncharged. */
  readonly isDelivered?: boolean
  /**
   * Null until known, and permanently if the attempt was not charged and delivered nothing. Without a transaction, the
   * goods were delivered and nothing was charged.
   */
  readonly settled: { readonly transactionId: string | null; readonly chargedAmount?: string | null } | null
}

/**
 * Stores purchases by id, without secrets: neither proofs nor responses. A forgotten purchase can be bought again, so
 * the oldest settled or ended ones are forgotten first.
 */
export interface PurchaseRecords {
  /** The latest attempt. */
  readonly find: (purchaseId: string) => Promise<PurchaseRecord | undefined>
  /** Stores a record before it resolves; false if another process has claimed that attempt. */
  readonly claim: (record: PurchaseRecord) => Promise<boolean>
  /** Replaces the record of an attempt. */
  readonly update: (record: PurchaseRecord) => Promise<void>
}

/**
 * Keeps the latest purchases in memory, for this process. A claim rejects while all of them may still be charged.
 *
 * @example
 * const wallet = openWallet({ apiKey, openRecords: async () => createRecordsInMemory() })
 */
export function createRecordsInMemory(maxRecords = 1000, now: () => number = Date.now): PurchaseRecords {
  const records = new Map<string, PurchaseRecord>()

  function mayBeCharged({ settled, begunAt }: PurchaseRecord): boolean {
    return !settled && now() - Date.parse(begunAt) < chargedWithinMs
  }

  return {
    find: (purchaseId) => Promise.resolve(records.get(purchaseId)),
    claim: (record) => {
      const before = records.get(record.purchaseId)
      if (before && before.attempt >= record.attempt) return Promise.resolve(false)
      if (!before && records.size >= maxRecords) {
        const oldest = [...records.values()].find((record) => !mayBeCharged(record))
        if (!oldest) return Promise.reject(new Failure(tooManyOpen))
        records.delete(oldest.purchaseId)
      }
      // A new attempt makes the purchase the newest again.
      records.delete(record.purchaseId)
      records.set(record.purchaseId, record)
      return Promise.resolve(true)
    },
    update: (record) => {
      if (records.get(record.purchaseId)?.attempt === record.attempt) {
        // What was just paid is forgotten last.
        records.delete(record.purchaseId)
        records.set(record.purchaseId, record)
      }
      return Promise.resolve()
    },
  }
}

/**
 * Six minutes that a proof lives (decision 5), one more for requesting it, and a day within which a merchant may charge a
 * payment that it has authorized.
 */
export const chargedWithinMs = 7 * 60_000 + 24 * 60 * 60_000

/** A purchase that may still be charged is never forgotten: it could be charged twice. */
const tooManyOpen = {
  reason_code: 'too_many_open_purchases',
  reason_detail: 'Too many purchases may still be charged.',
  remedy:
    'Nothing was charged by this call. Try again later: a payment may still be charged for up to a day.',
}

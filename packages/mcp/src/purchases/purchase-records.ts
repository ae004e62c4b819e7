import { Failure } from '../failure.ts'

/** What a payment is for. */
export interface Bill {
  readonly amount: string
  readonly currency: string
  readonly resource_url: string
  readonly merchant_domain: string
  readonly mandate_id: string
}

/** What is remembered of a purchase from the moment on at which it may be charged. */
export interface PurchaseRecord {
  readonly purchaseId: string
  /** Counts up from 0: an attempt that came to nothing is followed by the next one. */
  readonly attempt: number
  /** Equal for the same order; see `order.ts`. */
  readonly fingerprint: string
  /** By which the service knows what became of the payment; null when there was nothing to pay. */
  readonly nonce: string | null
  readonly bill: Bill | null
  readonly begunAt: string
  /** Null as long as it is not known, and for good when it came to nothing. */
  readonly settled: { readonly transactionId: string | null } | null
}

/**
 * The memory of purchases, by their ids. It holds no secret: neither proofs nor what merchants answered.
 * What it forgets can be bought again, so it forgets the oldest first, of those that are settled or over.
 */
export interface PurchaseRecords {
  /** The latest attempt. */
  readonly find: (purchaseId: string) => Promise<PurchaseRecord | undefined>
  /** Keeps a record for good before it resolves; false when somebody else has made that attempt. */
  readonly claim: (record: PurchaseRecord) => Promise<boolean>
  /** Replaces the record of the same attempt. */
  readonly settle: (record: PurchaseRecord) => Promise<void>
}

/** A memory that ends with the process, of the last purchases. */
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
      // A new attempt is the newest again.
      records.delete(record.purchaseId)
      records.set(record.purchaseId, record)
      return Promise.resolve(true)
    },
    settle: (record) => {
      if (records.get(record.purchaseId)?.attempt === record.attempt) records.set(record.purchaseId, record)
      return Promise.resolve()
    },
  }
}

/** The six minutes that a proof lives (decision 0005), and one more in which it was asked for. */
const chargedWithinMs = 7 * 60_000

/** Those that may still be charged are never forgotten, or they could be charged twice. */
const tooManyOpen = {
  reason_code: 'too_many_open_purchases',
  reason_detail: 'Too many purchases may still be charged.',
  remedy: 'Nothing was charged by this call. Try again in seven minutes.',
}

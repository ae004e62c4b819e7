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
  /** Equal for the same order; see `order.ts`. */
  readonly fingerprint: string
  /** By which the service knows what became of the payment; null when there was nothing to pay. */
  readonly nonce: string | null
  readonly bill: Bill | null
  readonly begunAt: string
  /** Null as long as it is not known. What came to nothing is forgotten, not settled. */
  readonly settled: { readonly transactionId: string | null } | null
}

/**
 * The memory of purchases, by their ids. It holds no secret: neither proofs nor what merchants answered.
 * What it forgets can be bought again, so it forgets the oldest settled purchases first.
 */
export interface PurchaseRecords {
  readonly find: (purchaseId: string) => Promise<PurchaseRecord | undefined>
  /** Keeps a record for good before it resolves; false when the id is taken. */
  readonly claim: (record: PurchaseRecord) => Promise<boolean>
  /** Replaces the record of the same id. */
  readonly settle: (record: PurchaseRecord) => Promise<void>
  readonly forget: (record: PurchaseRecord) => Promise<void>
}

/** A memory that ends with the process, of the last purchases. */
export function createRecordsInMemory(maxRecords = 1000): PurchaseRecords {
  const records = new Map<string, PurchaseRecord>()
  return {
    find: (purchaseId) => Promise.resolve(records.get(purchaseId)),
    claim: (record) => {
      if (records.has(record.purchaseId)) return Promise.resolve(false)
      if (records.size >= maxRecords) {
        const oldest = [...records.values()].find(({ settled }) => settled)
        if (!oldest) return Promise.reject(new Failure(tooManyOpen))
        records.delete(oldest.purchaseId)
      }
      records.set(record.purchaseId, record)
      return Promise.resolve(true)
    },
    settle: (record) => {
      if (records.has(record.purchaseId)) records.set(record.purchaseId, record)
      return Promise.resolve()
    },
    forget: (record) => {
      records.delete(record.purchaseId)
      return Promise.resolve()
    },
  }
}

/** Those that may still be charged are never forgotten, or they could be charged twice. */
const tooManyOpen = {
  reason_code: 'too_many_open_purchases',
  reason_detail: 'Too many purchases may still be charged.',
  remedy: 'Nothing was charged by this call. Try again in six minutes.',
}

import type { PurchaseResult } from './purchase-result.ts'

/** The results of recent purchases, so that a retry returns the goods too. Limited in number and size. */
export class ResultCache {
  readonly #results = new Map<string, PurchaseResult>()
  #bytes = 0

  keep(result: PurchaseResult): void {
    this.#drop(result.purchase_id)
    this.#results.set(result.purchase_id, result)
    this.#bytes += sizeOf(result)
    for (const purchaseId of this.#results.keys()) {
      if (this.#results.size <= maxResults && this.#bytes <= maxBytes) break
      this.#drop(purchaseId)
    }
  }

  find(purchaseId: string): PurchaseResult | undefined {
    return this.#results.get(purchaseId)
  }

  #drop(purchaseId: string): void {
    const result = this.#results.get(purchaseId)
    if (!result) return
    this.#results.delete(purchaseId)
    this.#bytes -= sizeOf(result)
  }
}

const maxResults = 256
const maxBytes = 16 * 1024 * 1024

function sizeOf(result: PurchaseResult): number {
  return result.response?.body.length ?? 0
}

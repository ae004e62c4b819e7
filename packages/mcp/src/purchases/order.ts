import { createHash } from 'node:crypto'

/** What a model asked to buy. */
export interface Order {
  /** The model's own name for the purchase: the same one again means the same purchase again. */
  readonly purchaseId: string
  readonly url: URL
  readonly method: 'GET' | 'POST'
  /** Sent as it is with a POST. */
  readonly body: string | undefined
  readonly contentType: string | undefined
  /** The price that is paid, or the highest that may be. */
  readonly price: { readonly exactly: string } | { readonly atMost: string }
  readonly mandateId: string | undefined
  readonly category: string | undefined
  /** How much of the answer is read; another limit is no other purchase. */
  readonly maxBytes: number
}

/** Equal for orders that ask for the same. */
export function fingerprintOf(order: Order): string {
  const { url, method, body, contentType, price, mandateId, category } = order
  const asked = [url.href, method, body, contentType, price, mandateId, category].map((part) => part ?? null)
  return createHash('sha256').update(JSON.stringify(asked)).digest('hex')
}

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

/** The headers of the order, without its proof. */
export function headersOf(order: Order): Record<string, string> {
  if (order.method === 'GET') return { accept: '*/*' }
  return {
    accept: '*/*',
    'content-type': order.contentType ?? 'application/json',
    'content-length': String(Buffer.byteLength(order.body ?? '')),
    // So that a merchant can tell a retry of an order from another order.
    'idempotency-key': createHash('sha256').update(order.purchaseId).digest('hex'),
  }
}

/** Equal for orders that ask for the same. */
export function fingerprintOf(order: Order): string {
  const { url, method, body, contentType, price, mandateId, category } = order
  const asked = [url.href, method, body, contentType, price, mandateId, category].map((part) => part ?? null)
  return createHash('sha256').update(JSON.stringify(asked)).digest('hex')
}

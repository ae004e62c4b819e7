import { createHash } from 'node:crypto'

/** What a model wants to buy. */
export interface Order {
  /** The model's idempotency key: reusing it means the same purchase. */
  readonly purchaseId: string
  readonly url: URL
  readonly method: 'GET' | 'POST'
  /** The body of a POST. */
  readonly body: string | undefined
  readonly contentType: string | undefined
  /** The exact price, or the highest acceptable one. */
  readonly price: { readonly exactly: string } | { readonly atMost: string }
  readonly mandateId: string | undefined
  readonly category: string | undefined
  /** The part of the response to return; it does not change the purchase. */
  readonly maxBytes: number
  readonly offset: number
}

/** A proposed purchase, before anything is contacted. A framework's `needsApproval` decides on it. */
export interface ProposedPurchase {
  readonly purchaseId: string
  /** The highest price in USDC, such as `4.00`; exactly this price if `isExact`. */
  readonly price: string
  readonly isExact: boolean
  /** The URL to buy. */
  readonly resource: string
  /** The host that is contacted and paid. */
  readonly seller: string
  readonly method: 'GET' | 'POST'
  /** The mandate that the model named. */
  readonly mandateId: string | undefined
}

/** The proposal that an order makes. */
export function proposalOf({ purchaseId, price, url, method, mandateId }: Order): ProposedPurchase {
  const isExact = 'exactly' in price
  return {
    purchaseId,
    price: isExact ? price.exactly : price.atMost,
    isExact,
    resource: url.href,
    seller: url.hostname,
    method,
    mandateId,
  }
}

/** The order's headers, without its proof. */
export function headersOf(order: Order): Record<string, string> {
  if (order.method === 'GET') return { accept: '*/*' }
  return {
    accept: '*/*',
    'content-type': order.contentType ?? 'application/json',
    'content-length': String(Buffer.byteLength(order.body ?? '')),
    // Lets a merchant recognize a retry.
    'idempotency-key': createHash('sha256').update(order.purchaseId).digest('hex'),
  }
}

/** Equal for equal orders. */
export function fingerprintOf(order: Order): string {
  const { url, method, body, contentType, price, mandateId, category } = order
  const asked = [url.href, method, body, contentType, price, mandateId, category].map((part) => part ?? null)
  return createHash('sha256').update(JSON.stringify(asked)).digest('hex')
}

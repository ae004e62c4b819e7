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
  /** The part of the answer that is returned; another part is not another purchase. */
  readonly maxBytes: number
  readonly offset: number
}

/** What a model proposes to buy, before anybody was asked anything: what `needsApproval` of a framework decides on. */
export interface ProposedPurchase {
  readonly purchaseId: string
  /** What is paid at most, in USDC, such as `4.00`; exactly that when `isExact`. */
  readonly price: string
  readonly isExact: boolean
  /** The address of what is bought. */
  readonly resource: string
  /** The host that is asked, and paid. */
  readonly seller: string
  readonly method: 'GET' | 'POST'
  /** The mandate that the model named. */
  readonly mandateId: string | undefined
}

/** What an order comes to, for whoever may refuse it. */
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

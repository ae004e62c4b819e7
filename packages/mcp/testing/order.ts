import type { Order } from '../src/purchases/order.ts'
import type { Shop } from './shop.ts'

/** A GET of this path of the shop, for at most 5.00. */
export function order(shop: Shop, path: string, fields: Partial<Order> = {}): Order {
  return {
    purchaseId: `buy ${path}`,
    url: new URL(path, shop.merchant.url),
    method: 'GET',
    body: undefined,
    contentType: undefined,
    price: { atMost: '5.00' },
    mandateId: undefined,
    category: undefined,
    maxBytes: 65_536,
    offset: 0,
    ...fields,
  }
}

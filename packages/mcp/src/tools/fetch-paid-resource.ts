import { z } from 'zod'

import type { Order } from '../purchases/order.ts'
import { PurchaseResult } from '../purchases/purchase-result.ts'
import { Address, Amount, PurchaseId } from './fields.ts'
import { afterwards, orderFields, orderOf } from './order-fields.ts'
import { purchaseText } from './purchase-text.ts'
import { defineTool, spendsMoney } from './tool.ts'

const input = z.object({
  purchase_id: PurchaseId,
  url: Address.describe('The URL to read.'),
  max_amount: Amount.describe('The highest price to pay, in USDC as text, for example "4.00".'),
  ...orderFields,
})

function order({ url, max_amount, ...rest }: z.output<typeof input>): Order {
  return {
    ...orderOf(rest),
    url: new URL(url),
    method: 'GET',
    body: undefined,
    contentType: undefined,
    price: { atMost: max_amount },
  }
}

export const fetchPaidResource = defineTool({
  name: 'fetch_paid_resource',
  title: 'Read a resource, paying if necessary',
  description:
    'Reads (GET) a URL of an allowed seller and returns its content. If the merchant asks for a payment of at ' +
    'most `max_amount`, it is paid; if it asks more, nothing is paid and the price is returned. Called again with ' +
    `the same purchase_id and arguments it returns what was bought and charges nothing. ${afterwards}`,
  annotations: spendsMoney,
  input,
  output: PurchaseResult,
  order,
  run: (wallet, args, call) => wallet.purchases.buy(order(args), call.signal, call.approval),
  tell: purchaseText,
})

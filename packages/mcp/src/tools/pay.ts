import { z } from 'zod'

import type { Order } from '../purchases/order.ts'
import { PurchaseResult } from '../purchases/purchase-result.ts'
import { Address, Amount, PurchaseId } from './fields.ts'
import { afterwards, orderFields, orderOf } from './order-fields.ts'
import { purchaseText } from './purchase-text.ts'
import { defineTool, spendsMoney } from './tool.ts'

const input = z
  .object({
    purchase_id: PurchaseId,
    resource_url: Address.describe('The URL to buy.'),
    amount: Amount.describe('The exact price in USDC as text, for example "4.00".'),
    method: z.enum(['GET', 'POST']).default('GET'),
    body: z.string().max(65_536).optional().describe('The body of a POST.'),
    content_type: z
      .string()
      .regex(/^[\w.+-]+\/[\w.+-]+(; ?[\w-]+=[\w.-]+)?$/, 'must be a media type')
      .optional()
      .describe('Media type of the body; default application/json.'),
    ...orderFields,
  })
  // Without its body, something else would be paid for.
  .refine(({ method, body = '' }) => method === 'POST' || body === '', {
    path: ['body'],
    error: 'needs the method POST; a GET has no body',
  })

function order({ resource_url, amount, method, body, content_type, ...rest }: z.output<typeof input>): Order {
  return {
    ...orderOf(rest),
    url: new URL(resource_url),
    method,
    body,
    contentType: content_type,
    price: { exactly: amount },
  }
}

export const pay = defineTool({
  name: 'pay',
  title: 'Pay an exact price',
  description:
    'Buys something at a price that you know, and returns what the merchant delivers. Use it once you have ' +
    'decided to buy: it pays exactly `amount`, or nothing if the merchant asks a different price. Also for orders ' +
    'sent as a POST. Called again with the same purchase_id and arguments it returns the first outcome and ' +
    'charges nothing; with other arguments it refuses. To read something whose price you do not know, use ' +
    `fetch_paid_resource. ${afterwards}`,
  annotations: spendsMoney,
  input,
  output: PurchaseResult,
  order,
  run: (wallet, args, call) => wallet.purchases.buy(order(args), call.signal, call.approval),
  tell: purchaseText,
})

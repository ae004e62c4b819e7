import { z } from 'zod'

import { PurchaseResult } from '../purchases/purchase-result.ts'
import { Address, Amount, Category, MandateId, MaxBytes, PurchaseId } from './fields.ts'
import { tellPurchase } from './purchase-words.ts'
import { defineTool, spendsMoney } from './tool.ts'

export const pay = defineTool({
  name: 'pay',
  title: 'Pay an exact price',
  description:
    'Pays one purchase at a price that you know, and returns what the merchant delivers. Use it when you have ' +
    'decided to buy: it pays exactly `amount`, or nothing if the merchant asks another price. Also for orders that ' +
    'are sent as a POST. Called again with the same purchase_id and arguments it returns the first outcome and ' +
    'charges nothing; with other arguments it refuses. To read something whose price you do not know, use ' +
    'fetch_paid_resource. A charge cannot be undone.',
  annotations: spendsMoney,
  input: z.object({
    purchase_id: PurchaseId,
    resource_url: Address.describe('The address of what is bought.'),
    amount: Amount.describe('The exact price in USDC as text, for example "4.00".'),
    method: z.enum(['GET', 'POST']).default('GET'),
    body: z.string().max(65_536).optional().describe('Sent with a POST.'),
    content_type: z
      .string()
      .regex(/^[\w.+-]+\/[\w.+-]+(; ?[\w-]+=[\w.-]+)?$/, 'must be a media type')
      .optional()
      .describe('Of the body; application/json when left out.'),
    category: Category,
    mandate_id: MandateId,
    max_bytes: MaxBytes,
  }),
  output: PurchaseResult,
  run: (wallet, input, signal) =>
    wallet.purchases.buy(
      {
        purchaseId: input.purchase_id,
        url: new URL(input.resource_url),
        method: input.method,
        body: input.method === 'POST' ? input.body : undefined,
        contentType: input.method === 'POST' ? input.content_type : undefined,
        price: { exactly: input.amount },
        mandateId: input.mandate_id,
        category: input.category,
        maxBytes: input.max_bytes,
      },
      signal,
    ),
  tell: tellPurchase,
})

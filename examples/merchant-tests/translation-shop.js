import { createServer } from 'node:http'

import { paymentOf, requirePayment } from '@purser/merchant/node'

/** Sells translations, at most 2.00 each; each word costs 0.01. A failed translation is not charged. */
export function createTranslations(client, publicUrl, translate) {
  const sell = requirePayment(
    { client, merchantDomain: new URL(publicUrl).hostname, publicUrl, price: '2.00', capture: 'after' },
    async (request, response) => {
      const words = await translate(request.url)
      paymentOf(request).meter((words.length / 100).toFixed(2))
      response.end(words.join(' '))
    },
  )
  return { server: createServer(sell), refund: sell.refund }
}

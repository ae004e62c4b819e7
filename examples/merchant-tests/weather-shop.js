import { createServer } from 'node:http'

import { requirePayment } from '@purser/merchant/node'

/** The shop, for its server and for its tests: the client is handed in. */
export function createShop(client, publicUrl) {
  const options = { client, merchantDomain: new URL(publicUrl).hostname, publicUrl, price: '0.05' }
  return createServer(requirePayment(options, (_request, response) => response.end('sunny')))
}

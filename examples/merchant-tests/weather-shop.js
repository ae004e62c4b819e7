import { createServer } from 'node:http'

import { requirePayment } from '@purser/merchant/node'

/** The shop, used by its server and its tests, which pass in the client. */
export function createShop(client, publicUrl) {
  const options = { client, merchantDomain: new URL(publicUrl).hostname, publicUrl, price: '0.05' }
  return createServer(requirePayment(options, (_request, response) => response.end('sunny')))
}

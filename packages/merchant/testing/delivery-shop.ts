import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { DatabaseSync } from 'node:sqlite'

import { Purser } from '@purser/client'
import type { DeliveryStore } from '@purser/merchant'
import { fileDeliveries } from '@purser/merchant/file-store'
import { requirePayment } from '@purser/merchant/node'
import { sqliteDeliveries } from '@purser/merchant/sqlite-store'

/** A shop in a separate process. The path selects what its handler does; the port is sent to the parent. */
const [kind, place = '', serviceUrl = '', apiKey = '', name = ''] = process.argv.slice(2)
const deliveries = await openDeliveries()
const failed = new Set<string>()

const options = {
  client: new Purser({ apiKey, baseUrl: serviceUrl }),
  merchantDomain: 'api.example.com',
  price: '4.00',
  deliveries,
  leaseTimeout: 600,
}
const sellBefore = requirePayment(options, sell)
const sellAfter = requirePayment({ ...options, capture: 'after' }, sell)

function sell(request: IncomingMessage, response: ServerResponse): void {
  const { url = '' } = request
  if (url.startsWith('/killed') || (url.startsWith('/after/killed') && name === 'one')) {
    process.send?.('entered')
    return // Hangs until the process is killed.
  }
  const mayFail = url.startsWith('/broken') || (url.startsWith('/once') && !failed.has(url))
  failed.add(url)
  if (mayFail) response.writeHead(500).end('broken')
  else response.end('goods')
}

const server = createServer((request, response) => {
  const charged = request.url?.startsWith('/after/') ? sellAfter : sellBefore
  charged(request, response)
}).listen(0, '127.0.0.1', () => {
  process.send?.((server.address() as AddressInfo).port)
})

async function openDeliveries(): Promise<DeliveryStore> {
  if (kind === 'file') return fileDeliveries(place)
  if (kind === 'sqlite') return sqliteDeliveries(new DatabaseSync(place))
  const { redisDeliveries } = await import('../../../examples/merchant-redis/redis-deliveries.ts')
  return redisDeliveries(place)
}

import assert from 'node:assert/strict'

import { merchantDomain, requestsTo, type Exchange, type Purchase } from './flows.ts'
import { putUnderLoad } from './load.ts'

/**
 * Creates the seller, and agents that each have a mandate whose budget no run exhausts. It uses the network, because
 * V8 would serve real requests more slowly after requests injected into the application.
 */
export async function preparePurchases(port: number, key: string, count: number): Promise<Purchase[]> {
  const post = requestsTo({ port, key })
  const creation = (path: string, payload: object) => ({
    request: post(path, JSON.stringify(payload)),
    status: 201,
  })
  const purchases: Purchase[] = []

  async function create(clients: number, exchanges: Iterator<Exchange>): Promise<void> {
    const { unexpected, sample } = await putUnderLoad(port, clients, Infinity, () => exchanges.next().value)
    assert.equal(unexpected, 0, `the service refuses what the bench needs: ${sample}`)
  }
  const seller = creation('/sellers', { name: 'Example data', domain: merchantDomain, price_config: {} })
  const buyers = Array.from({ length: count }, (_, index) => ({
    ...creation('/agents', { name: `agent ${index}`, capabilities: ['payments'] }),
    follow: (agent: string) => ({
      ...creation('/mandates', {
        agent_id: idOf(agent),
        purpose: 'Buy research data',
        max_spend_total: '900000000000.00',
        max_spend_per_transaction: '10.00',
        allowed_sellers: [merchantDomain],
        allowed_categories: ['data'],
        expires_at: '2099-01-01T00:00:00Z',
      }),
      follow: (mandate: string) => {
        purchases.push({ agentId: idOf(agent), mandateId: idOf(mandate) })
        return undefined
      },
    }),
  }))
  await create(1, [seller].values())
  await create(preparingClients, buyers.values())
  return purchases
}

function idOf(body: string): string {
  return (JSON.parse(body) as { id: string }).id
}

const preparingClients = 16

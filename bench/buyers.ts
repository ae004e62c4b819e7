import assert from 'node:assert/strict'

import { merchantDomain, requestsTo, type Exchange, type Purchase } from './flows.ts'
import { putUnderLoad } from './load.ts'

/** Creates the seller, and agents that each have a mandate. */
export async function preparePurchases(port: number, key: string, count: number): Promise<Purchase[]> {
  const seller = { name: 'Example data', domain: merchantDomain, price_config: {} }
  const request = requestsTo({ port, key })('/sellers', JSON.stringify(seller))
  await create(port, 1, [{ request, status: 201 }].values())
  return createBuyers(port, key, { count })
}

/**
 * Creates agents that each have a mandate whose budget no run exhausts. It uses the network, because
 * V8 would serve real requests more slowly after requests injected into the application.
 */
export async function createBuyers(
  port: number,
  key: string,
  { count, terms = {} }: { readonly count: number; readonly terms?: object },
): Promise<Purchase[]> {
  const post = requestsTo({ port, key })
  const creation = (path: string, payload: object) => ({
    request: post(path, JSON.stringify(payload)),
    status: 201,
  })
  const purchases: Purchase[] = []

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
        ...terms,
      }),
      follow: (mandate: string) => {
        purchases.push({ agentId: idOf(agent), mandateId: idOf(mandate) })
        return undefined
      },
    }),
  }))
  await create(port, preparingClients, buyers.values())
  return purchases
}

async function create(port: number, clients: number, exchanges: Iterator<Exchange>): Promise<void> {
  const { unexpected, sample } = await putUnderLoad(port, clients, Infinity, () => exchanges.next().value)
  assert.equal(unexpected, 0, `the service refuses what the bench needs: ${sample}`)
}

function idOf(body: string): string {
  return (JSON.parse(body) as { id: string }).id
}

const preparingClients = 16

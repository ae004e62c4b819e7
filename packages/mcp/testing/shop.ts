import assert from 'node:assert/strict'

import {
  issueKey,
  preparePurchase,
  startTestService,
  type TestService,
} from '../../../service/testing/service.ts'
import type { WalletOptions } from '../src/wallet.ts'
import { startMerchant, type Merchant } from './merchant.ts'

/** A service, a merchant, and an agent with a mandate for it: 20.00 in total, 5.00 per payment. */
export interface Shop {
  readonly service: TestService
  readonly merchant: Merchant
  readonly agentId: string
  readonly mandateId: string
  readonly agentKey: string
  /** The options for the agent's wallet. */
  readonly wallet: WalletOptions
  /** The environment of the command. */
  readonly environment: Readonly<Record<string, string>>
  /** The mandate's spent and held amounts. */
  readonly spent: () => Promise<{ spent: string; held: string }>
  /** Fails if anything was held, recorded or charged. */
  readonly assertUntouched: () => Promise<void>
}

export async function openShop(
  context: { readonly after: (stop: () => Promise<void>) => void },
  mandate: Record<string, unknown> = {},
  running?: TestService,
): Promise<Shop> {
  const service = running ?? (await startTestService(context))
  const { agentId, mandateId } = await preparePurchase(service, {
    max_spend_total: '20.00',
    max_spend_per_transaction: '5.00',
    allowed_sellers: ['localhost'],
    ...mandate,
  })
  const agentKey = await issueKey(service, { role: 'agent', agent_id: agentId })
  const merchantKey = await issueKey(service, { role: 'merchant' })
  const merchant = await startMerchant(context, { url: service.url, merchantKey })
  const { host } = new URL(merchant.url)
  const spent = async () => {
    const { status, body } = await service.call('GET', `/mandates/${mandateId}`)
    assert.equal(status, 200)
    return { spent: body.spent_total, held: body.held_total }
  }
  return {
    service,
    merchant,
    agentId,
    mandateId,
    agentKey,
    wallet: { apiKey: agentKey, url: service.url, privateHosts: [host], sleep: async () => undefined },
    environment: {
      PURSER_URL: service.url,
      PURSER_AGENT_KEY: agentKey,
      PURSER_MCP_PRIVATE_HOSTS: host,
      PURSER_MCP_STATE: 'memory',
    },
    spent,
    assertUntouched: async () => {
      assert.deepEqual(await spent(), { spent: '0.00', held: '0.00' })
      const { body } = await service.call('GET', `/v1/transactions?mandate_id=${mandateId}`)
      assert.deepEqual(body, [])
      assert.deepEqual(merchant.shown, [])
    },
  }
}

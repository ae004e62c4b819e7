import assert from 'node:assert/strict'

import { Purser, type Proof } from '@purser/client'
import type { Challenge, PaymentOptions, Receipt } from '@purser/merchant'

import {
  issueKey,
  merchantDomain,
  preparePurchase,
  type TestService,
} from '../../../service/testing/service.ts'
import type { Adapter } from './adapters.ts'
import { startCuttingProxy, type CuttingProxy } from './cutting-proxy.ts'
import { Shop } from './shop.ts'

export const price = '4.00'

/** A merchant's response, for assertions. */
export interface ShopAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly challenge: Challenge
  readonly receipt: Receipt | undefined
}

/** A merchant behind an adapter, the network between it and the service, and an agent with a mandate of 100.00. */
export interface Purchase {
  readonly shop: Shop
  readonly proxy: CuttingProxy
  readonly agentId: string
  readonly mandateId: string
  /** The key of the merchant. */
  readonly merchantKey: string
  readonly deserted: () => Promise<void>
  /** The errors that the merchant received. */
  readonly errors: unknown[]
  /** The local URL of a path of the shop. */
  readonly urlOf: (path: string) => string
  readonly get: (path: string, headers?: Record<string, string>) => Promise<ShopAnswer>
  /** Requests a path and gets a proof for its price; the fields override. */
  readonly proofFor: (path: string, fields?: { amount?: string; resource_url?: string }) => Promise<Proof>
  /** Sends a request for a path with a proof. */
  readonly pay: (path: string, proof: unknown) => Promise<ShopAnswer>
  readonly spent: () => Promise<string>
  readonly hidesErrors: boolean
}

interface Ending {
  readonly after: (stop: () => Promise<void>) => void
}

/** Opens a shop for one test, with a key with the role `merchant`. */
export async function openShop(
  context: Ending,
  service: TestService,
  adapter: Adapter,
  options: Partial<PaymentOptions> = {},
  mandate: Record<string, unknown> = {},
): Promise<Purchase> {
  const shop = new Shop()
  const proxy = await startCuttingProxy(context, service.url)
  const errors: unknown[] = []
  const merchantKey = await issueKey(service, { role: 'merchant' })
  const client = new Purser({
    apiKey: merchantKey,
    baseUrl: proxy.url,
    random: () => 0, // Retries without a pause.
  })
  const standard = { client, merchantDomain, onError: (error: unknown) => errors.push(error) }
  const asked = 'routes' in options ? options : { price, category: 'data', ...options }
  const server = await adapter.open({ ...standard, ...asked } as PaymentOptions, shop)
  context.after(server.close)

  const { agentId, mandateId } = await preparePurchase(service, mandate)
  const agent = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url })
  const urlOf = (path: string) => server.url + path

  async function get(path: string, headers: Record<string, string> = {}): Promise<ShopAnswer> {
    // Without keep-alive, a closed connection is noticed.
    const init = { headers: { connection: 'close', ...headers }, signal: AbortSignal.timeout(20_000) }
    const response = await fetch(urlOf(path), { ...init, redirect: 'manual' })
    const text = await response.text()
    const receipt = decode(response.headers.get('x-payment-receipt')) as Receipt | undefined
    const challenge = decode(response.headers.get('x-payment-challenge')) as Challenge
    return { status: response.status, headers: response.headers, text, challenge, receipt }
  }

  return {
    shop,
    hidesErrors: adapter.hidesErrors === true,
    proxy,
    agentId,
    mandateId,
    merchantKey,
    deserted: server.deserted,
    errors,
    urlOf,
    get,
    proofFor: async (path, fields = {}) => {
      const { challenge } = await get(path)
      const decision = await agent.payments.requestProof({
        agent_id: agentId,
        mandate_id: mandateId,
        amount: challenge.amount,
        resource_url: challenge.resource,
        ...fields,
      })
      assert(decision.decision === 'approved', JSON.stringify(decision))
      return decision.proof
    },
    pay: (path, proof) => get(path, { 'x-payment-proof': encode(proof) }),
    spent: async () => (await agent.mandates.get(mandateId)).spent_total,
  }
}

/** A value encoded for a header. */
export function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

function decode(header: string | null): unknown {
  return header === null ? undefined : JSON.parse(Buffer.from(header, 'base64url').toString())
}
